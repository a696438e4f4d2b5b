import { useState } from 'react'
import { readTheme, setTheme, type Theme } from '../../../lib/theme.ts'
import { formatDateTime } from '../../../lib/time.ts'
import { areLettersOn, setLetters } from '../../../shell/shortcuts.ts'
import { announce } from '../../../ui/announcer.tsx'
import { RadioGroupField, SwitchField } from '../../../ui/form/toggle-fields.tsx'
import { Card, Page, Section } from '../../../ui/page.tsx'
import { setTimeZone, type TimeZone, useNow, useTimeZone } from '../../../ui/time-zone.ts'

export function AppearancePage() {
  return (
    <Page title="Appearance" description="Display and keyboard settings of this browser.">
      <Section title="Theme">
        <ThemeChoice />
      </Section>
      <Section title="Times">
        <ZoneChoice />
      </Section>
      <Section title="Keyboard">
        <LettersChoice />
      </Section>
    </Page>
  )
}

const THEMES: readonly { readonly value: Theme; readonly label: string; readonly description?: string }[] = [
  { value: 'system', label: 'System', description: 'Follows the system’s light or dark mode.' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
]

function ThemeChoice() {
  const [theme, choose] = useState(readTheme)
  return (
    <Card>
      <RadioGroupField
        label="Theme"
        hideLabel
        value={theme}
        onChange={(next) => {
          setTheme(next)
          choose(next)
        }}
        options={THEMES}
      />
    </Card>
  )
}

function ZoneChoice() {
  const zone = useTimeZone()
  const now = new Date(useNow()).toISOString()
  const options: readonly { readonly value: TimeZone; readonly label: string; readonly description: string }[] = [
    { value: 'local', label: `Local time, ${ownZone()}`, description: formatDateTime(now, 'local') },
    { value: 'utc', label: 'UTC', description: formatDateTime(now, 'utc') },
  ]
  return (
    <Card>
      <RadioGroupField
        label="Time zone"
        description="Hover over a time to see the other zone. Billing always uses UTC days."
        value={zone}
        onChange={setTimeZone}
        options={options}
      />
    </Card>
  )
}

function ownZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone.replaceAll('_', ' ')
}

function LettersChoice() {
  const [isOn, choose] = useState(areLettersOn)
  return (
    <Card>
      <SwitchField
        label="Single-letter shortcuts"
        description="For example G then M for models, and ? for the complete list. Ctrl K and Cmd K always work."
        checked={isOn}
        onChange={(next) => {
          setLetters(next)
          choose(next)
          announce(next ? 'Single-letter shortcuts are on' : 'Single-letter shortcuts are off')
        }}
      />
    </Card>
  )
}

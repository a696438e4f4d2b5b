import { useState } from 'react'
import { readTheme, setTheme, type Theme } from '../../../lib/theme.ts'
import { formatDateTime } from '../../../lib/time.ts'
import { areLettersOn, setLetters } from '../../../shell/shortcuts.ts'
import { announce } from '../../../ui/announcer.tsx'
import { RadioGroupField, SwitchField } from '../../../ui/field.tsx'
import { Card, Page, Section } from '../../../ui/page.tsx'
import { setTimeZone, type TimeZone, useNow, useTimeZone } from '../../../ui/time-zone.ts'

export function AppearancePage() {
  return (
    <Page
      title="Appearance"
      description="How this dashboard looks and listens in this browser. Nobody else is affected."
    >
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
  { value: 'system', label: 'As the system', description: 'Light or dark, whichever your system is in.' },
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
        description="The other one is shown when you point at a time. Amounts are always booked by days of UTC."
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
        label="Shortcuts of single letters"
        description="Such as G then M for models, and ? for the list of all. Ctrl K and Cmd K work either way."
        checked={isOn}
        onChange={(next) => {
          setLetters(next)
          choose(next)
          announce(next ? 'Shortcuts of single letters are on' : 'Shortcuts of single letters are off')
        }}
      />
    </Card>
  )
}

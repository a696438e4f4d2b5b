/** The first steps, ticked by what the account really has. */
import { Check, Circle, X } from 'lucide-react'
import { useMe } from '../../api/me.ts'
import { toast } from '../../ui/announcer.tsx'
import { AppLink } from '../../ui/app-link.tsx'
import { Button, IconButton } from '../../ui/button.tsx'
import { CardTitle } from '../../ui/page.tsx'
import { MoreLink, Panel } from './panel.tsx'
import { setDismissed, useRemembered } from './remembered.ts'
import { type Step, useSteps } from './use-steps.ts'

export function Checklist({ hasRequests }: { readonly hasRequests: boolean }) {
  const { account } = useMe()
  const { isDismissed } = useRemembered(account.id)
  return isDismissed ? null : <Steps hasRequests={hasRequests} />
}

function Steps({ hasRequests }: { readonly hasRequests: boolean }) {
  const { account } = useMe()
  const steps = useSteps({ hasRequests })
  const done = steps.filter(({ isDone }) => isDone).length
  const dismiss = () => {
    setDismissed(account.id, true)
    document.getElementById('view')?.focus({ preventScroll: true })
    toast('Getting started is put away', { tone: 'info', undo: () => setDismissed(account.id, false) })
  }
  if (done === steps.length) return <AllSet onDismiss={dismiss} />
  return (
    <Panel>
      <div className="flex items-center justify-between gap-4 py-2.5 pr-2 pl-4">
        <div className="flex min-w-0 flex-wrap items-baseline gap-x-3">
          <CardTitle id="getting-started">Getting started</CardTitle>
          <span className="text-sm text-soft tabular-nums">
            {done} of {steps.length} done
          </span>
        </div>
        <IconButton label="Put away getting started" icon={X} size="sm" onClick={dismiss} />
      </div>
      <div aria-hidden className="h-1 bg-sunken">
        <div style={{ width: `${(100 * done) / steps.length}%` }} className="h-full bg-accent" />
      </div>
      <ul aria-labelledby="getting-started" className="divide-y divide-line">
        {steps.map((step) => (
          <StepRow key={step.id} step={step} />
        ))}
      </ul>
    </Panel>
  )
}

function StepRow({ step: { title, detail, link, isDone } }: { readonly step: Step }) {
  return (
    <li className="flex gap-3 px-4 py-2.5">
      <Tick isDone={isDone} />
      <div className="min-w-0 flex-1">
        <p className={isDone ? 'text-soft' : 'font-medium text-ink'}>
          {title}
          <span className="sr-only">{isDone ? ': done' : ': to do'}</span>
        </p>
        {!isDone && <p className="text-sm text-soft">{detail}</p>}
        {!isDone && link !== undefined && <StepLink {...link} />}
      </div>
    </li>
  )
}

function StepLink({ label, ...target }: NonNullable<Step['link']>) {
  return <MoreLink {...target}>{label}</MoreLink>
}

function Tick({ isDone }: { readonly isDone: boolean }) {
  if (!isDone) return <Circle aria-hidden className="size-5 shrink-0 text-strong" />
  return (
    <span className="flex size-5 shrink-0 items-center justify-center rounded-full bg-good-soft text-good">
      <Check aria-hidden className="size-3.5" />
    </span>
  )
}

/** What is left of the list when all of it is done. */
function AllSet({ onDismiss }: { readonly onDismiss: () => void }) {
  return (
    <Panel>
      <div className="flex items-center gap-3 py-1.5 pr-2 pl-4">
        <Tick isDone />
        <div className="flex min-w-0 flex-1 flex-wrap items-baseline gap-x-3">
          <CardTitle>All set</CardTitle>
          <NextSteps />
        </div>
        <Button variant="ghost" size="sm" onClick={onDismiss}>
          Put away<span className="sr-only"> getting started</span>
        </Button>
      </div>
    </Panel>
  )
}

function NextSteps() {
  return (
    <p className="text-sm text-soft">
      Next: <InText to="/models">find models and prices</InText>, <InText to="/agents/new">let an agent work</InText>,
      or <InText to="/settings/members">invite others</InText>.
    </p>
  )
}

function InText({ to, children }: { readonly to: string; readonly children: string }) {
  return (
    <AppLink to={to} className="text-accent underline">
      {children}
    </AppLink>
  )
}

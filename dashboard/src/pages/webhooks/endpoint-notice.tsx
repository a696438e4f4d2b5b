/** Why an endpoint gets nothing, or soon will not, and what can be done about it. */
import { useQueryClient } from '@tanstack/react-query'
import { Ban, type LucideIcon, TriangleAlert } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { problemOf } from '../../api/problem.ts'
import { toast } from '../../ui/announcer.tsx'
import { Button } from '../../ui/button.tsx'
import { classNames } from '../../ui/class-names.ts'
import { Time } from '../../ui/values.tsx'
import { changeWebhook, type Webhook } from './queries.ts'

interface StandingNoticeProps {
  readonly webhook: Webhook
  /** Says which one it is about. */
  readonly named?: boolean
}

/** Nothing where an endpoint is well. */
export function EndpointNotice({ webhook, named = false }: StandingNoticeProps) {
  const name = named ? <span className="font-medium break-all">{webhook.url}</span> : 'This endpoint'
  if (webhook.status === 'enabled') {
    return webhook.failing_since === null ? null : (
      <Notice icon={TriangleAlert} tone="warn">
        {name} is failing: no attempt has succeeded since <Time iso={webhook.failing_since} />. It is disabled after 5
        days of failures.
      </Notice>
    )
  }
  return (
    <Notice
      icon={Ban}
      tone={webhook.disabled_reason === 'by_request' ? 'neutral' : 'bad'}
      action={<EnableButton webhook={webhook} />}
    >
      {name} was disabled <Time iso={webhook.disabled_at} relative />
      {webhook.disabled_reason === 'by_request' && '. '}
      {webhook.disabled_reason === 'gone' && ': it answered 410 Gone. '}
      {webhook.disabled_reason === 'creator_gone' &&
        ': its creator left the account, or its key was revoked. The member who enables it becomes its owner. '}
      {webhook.disabled_reason === 'failing' && (
        <>
          : every attempt since <Time iso={webhook.failing_since} /> failed, for 5 days.{' '}
        </>
      )}
      It receives no events until it is enabled again.
    </Notice>
  )
}

function EnableButton({ webhook }: { readonly webhook: Webhook }) {
  const client = useQueryClient()
  const [pending, setPending] = useState(false)
  const enable = () => {
    setPending(true)
    changeWebhook(client, webhook.id, { status: 'enabled' })
      .then(
        () => toast('Enabled. You can resend failed deliveries.'),
        (error: unknown) => toast(problemOf(error).message, { tone: 'bad' }),
      )
      .finally(() => setPending(false))
  }
  return (
    <Button size="sm" pending={pending} onClick={enable}>
      Enable again
    </Button>
  )
}

interface NoticeProps {
  readonly icon: LucideIcon
  readonly tone: 'neutral' | 'warn' | 'bad'
  readonly action?: ReactNode
  readonly children: ReactNode
}

const TONES = {
  neutral: ['border-line bg-sunken', 'text-soft'],
  warn: ['border-transparent bg-warn-soft', 'text-warn'],
  bad: ['border-transparent bg-bad-soft', 'text-bad'],
} as const

function Notice({ icon: Icon, tone, action, children }: NoticeProps) {
  const [box, icon] = TONES[tone]
  return (
    <div className={classNames('flex flex-wrap items-center gap-x-4 gap-y-2 rounded-xl border px-4 py-3', box)}>
      <div className="flex min-w-0 flex-1 basis-64 items-start gap-2.5">
        <Icon aria-hidden className={classNames('mt-0.5 size-4 shrink-0', icon)} />
        <p className="min-w-0 break-words text-ink">{children}</p>
      </div>
      {action}
    </div>
  )
}

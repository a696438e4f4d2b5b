/** Views that are no view: nothing there, something broken, not yet loaded. */
import type { ErrorComponentProps } from '@tanstack/react-router'
import { Compass } from 'lucide-react'
import { LinkButton } from '../ui/button.tsx'
import { Page } from '../ui/page.tsx'
import { Empty, Failed, SkeletonRows } from '../ui/states.tsx'

export function LostPage() {
  return (
    <Page title="Not found">
      <Empty
        icon={Compass}
        title="There is nothing at this address."
        action={<LinkButton to="/">Go to Home</LinkButton>}
      />
    </Page>
  )
}

export function PageFailed({ error, reset }: ErrorComponentProps) {
  return (
    <div className="mx-auto max-w-3xl p-6">
      <h1 className="mb-4 text-xl font-semibold">This view could not be shown</h1>
      <Failed error={error} onRetry={reset} />
    </div>
  )
}

export function PagePending() {
  return <SkeletonRows rows={8} />
}

/** How a receiver tells that what it is sent is ours. */
import { Tabs } from '../../ui/choices.tsx'
import { CodeBlock } from '../../ui/code.tsx'
import type { Language } from './search.ts'
import { VERIFICATION_CODE } from './verification-code.ts'

export interface VerificationTabProps {
  readonly language: Language | undefined
  readonly onLanguage: (language: Language) => void
}

export function VerificationTab({ language = 'typescript', onLanguage }: VerificationTabProps) {
  const shown = VERIFICATION_CODE.find(({ id }) => id === language) ?? VERIFICATION_CODE[0]
  return (
    <div className="flex flex-col gap-4">
      <p className="max-w-prose text-soft">
        Verify the signature over the body as it came, byte for byte, before it is parsed. Answer 2xx within 10 seconds,
        and work afterwards; an <code className="font-mono text-sm">event_id</code> that was handled before is answered
        2xx and left. The secret is in <code className="font-mono text-sm">TURNPIKE_WEBHOOK_SECRET</code>.
      </p>
      <Tabs
        label="Language"
        value={shown.id}
        onChange={onLanguage}
        items={VERIFICATION_CODE.map(({ id, label }) => ({ value: id, label }))}
      >
        <CodeBlock code={shown.code.trimEnd()} label={`Verification in ${shown.label}`} />
      </Tabs>
    </div>
  )
}

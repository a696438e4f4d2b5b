import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code.tsx'

/** A secret that was just made. It is nowhere else to be had. Takes the focus: the form that made it is gone. */
export function NewSecret({ secret }: { readonly secret: string }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: it is no fieldset
    <div
      ref={takeFocus}
      role="group"
      aria-label="New secret"
      tabIndex={-1}
      className="flex flex-col gap-3 outline-none"
    >
      <p className="text-soft">
        What is sent is signed with this secret. It is shown this once: keep it as you keep a key.
      </p>
      <CodeBlock code={secret} language="Secret" label="Secret" />
      <CodeBlock code={`TURNPIKE_WEBHOOK_SECRET=${secret}`} language=".env" label="Line for an .env file" />
    </div>
  )
}

/** The only way out of the dialog that shows it. */
export function SavedButton({ onClick }: { readonly onClick: () => void }) {
  return (
    <Button variant="primary" onClick={onClick}>
      I have saved it
    </Button>
  )
}

function takeFocus(element: HTMLElement | null): void {
  element?.focus()
}

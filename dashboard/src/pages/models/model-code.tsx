import { chatSamples } from '../../lib/code-samples.ts'
import { CodeTabs } from '../../ui/code.tsx'
import { Card, CardTitle } from '../../ui/page.tsx'

/** How the model is called, with the address of this very installation. */
export function ModelCode({ model }: { readonly model: string }) {
  const messages = [{ role: 'user', content: 'Say hello.' }]
  const samples = chatSamples({ baseUrl: `${location.origin}/v1`, model, messages })
  return (
    <Card>
      <CardTitle className="mb-2">Call it</CardTitle>
      <CodeTabs
        label="Language of the example"
        tabs={[
          { id: 'curl', label: 'curl', code: samples.curl },
          { id: 'python', label: 'Python', code: samples.python },
          { id: 'typescript', label: 'TypeScript', code: samples.typescript },
        ]}
      />
    </Card>
  )
}

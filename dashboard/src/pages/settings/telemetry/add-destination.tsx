/** A new telemetry destination, tested as soon as it is there. */
import { useState } from 'react'
import { useCan } from '../../../api/me.ts'
import { useTeamOptions } from '../../../api/names.ts'
import { toast } from '../../../ui/announcer.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { Combobox } from '../../../ui/form/combobox.tsx'
import { TextArea, TextField } from '../../../ui/form/field.tsx'
import { Form } from '../../../ui/form/form.tsx'
import { SelectField } from '../../../ui/form/select-field.tsx'
import { CheckboxField } from '../../../ui/form/toggle-fields.tsx'
import { type Destination, useDestinationActions } from './queries.ts'

type Kind = Destination['kind']

export const KIND_NAMES: Readonly<Record<Kind, string>> = {
  otlp: 'OTLP endpoint',
  langfuse: 'Langfuse',
  langsmith: 'LangSmith',
  datadog: 'Datadog',
  honeycomb: 'Honeycomb',
  grafana_cloud: 'Grafana Cloud',
}

const CREDENTIALS: Readonly<Record<Kind, string | undefined>> = {
  otlp: undefined,
  langfuse: 'Public key and secret key, joined by a colon.',
  langsmith: 'API key. The project goes in a header: Langsmith-Project.',
  datadog: 'API key.',
  honeycomb: 'Ingest key.',
  grafana_cloud: 'Instance ID and token, joined by a colon.',
}

/** Kinds whose address has no default. */
const NEEDS_URL: ReadonlySet<Kind> = new Set<Kind>(['otlp', 'grafana_cloud'])

interface AddDestinationProps {
  readonly open: boolean
  readonly onClose: () => void
}

export function AddDestination({ open, onClose }: AddDestinationProps) {
  return (
    <Dialog
      open={open}
      onOpenChange={(next) => {
        if (!next) onClose()
      }}
      title="Add telemetry destination"
      description="Credentials and headers are stored encrypted and never shown again."
    >
      <AddForm onClose={onClose} />
    </Dialog>
  )
}

function AddForm({ onClose }: Pick<AddDestinationProps, 'onClose'>) {
  const { add, test } = useDestinationActions()
  const [name, setName] = useState('')
  const [kind, setKind] = useState<Kind>('otlp')
  const [url, setUrl] = useState('')
  const [credential, setCredential] = useState('')
  const [headers, setHeaders] = useState('')
  const [audience, setAudience] = useState<AudienceChoice>({ team: '', content: false })
  const hint = CREDENTIALS[kind]
  const submit = async () => {
    const made = await add({
      name,
      kind,
      ...(url.trim() !== '' && { url: url.trim() }),
      ...(hint !== undefined && { credential: credential.trim() }),
      ...(headers.trim() !== '' && { headers: headersOf(headers) }),
      ...(audience.team !== '' && { team_id: audience.team }),
      content: audience.content,
    })
    const error = await test(made.id)
    if (error === null) toast(`${name} accepted a test span`)
    else toast(`${name} is added, but did not accept a test span: ${error}`, { tone: 'bad' })
    onClose()
  }
  const missing = missingOf({
    name,
    needsUrl: NEEDS_URL.has(kind),
    url,
    needsCredential: hint !== undefined,
    credential,
  })
  return (
    <Form onSubmit={submit} submitLabel="Add and test" onCancel={onClose} missing={missing}>
      <TextField label="Name" name="name" value={name} onChange={setName} maxLength={100} required />
      <SelectField
        label="Service"
        name="kind"
        value={kind}
        onChange={setKind}
        options={(Object.keys(KIND_NAMES) as Kind[]).map((each) => ({ value: each, label: KIND_NAMES[each] }))}
      />
      <TextField
        label="Address"
        name="url"
        type="url"
        value={url}
        onChange={setUrl}
        required={NEEDS_URL.has(kind)}
        description={NEEDS_URL.has(kind) ? undefined : 'Only for your own host or region.'}
      />
      {hint !== undefined && (
        <TextField
          label="Credential"
          name="credential"
          type="password"
          autoComplete="off"
          spellCheck={false}
          value={credential}
          onChange={setCredential}
          description={hint}
          mono
          required
        />
      )}
      <TextArea
        label="Headers"
        name="headers"
        value={headers}
        onChange={setHeaders}
        rows={2}
        mono
        description="One a line, as Name: value."
      />
      <Audience {...audience} onChange={setAudience} />
    </Form>
  )
}

interface AudienceChoice {
  /** Empty: of the whole account. */
  readonly team: string
  readonly content: boolean
}

interface AudienceProps extends AudienceChoice {
  readonly onChange: (choice: AudienceChoice) => void
}

/** Whose requests are sent, and whether with what they say. */
interface Needed {
  readonly name: string
  readonly needsUrl: boolean
  readonly url: string
  readonly needsCredential: boolean
  readonly credential: string
}

function missingOf({ name, needsUrl, url, needsCredential, credential }: Needed): string | undefined {
  if (name.trim() === '') return 'Enter a name.'
  if (needsUrl && url.trim() === '') return 'Enter an address.'
  return needsCredential && credential.trim() === '' ? 'Enter the credential.' : undefined
}

function Audience({ team, content, onChange }: AudienceProps) {
  const teams = useTeamOptions()
  const canSendContent = useCan('content')
  return (
    <>
      {teams.length > 0 && (
        <Combobox
          label="Team"
          name="team_id"
          description="Only requests of this team."
          placeholder="None: all requests of the account"
          value={team}
          onChange={(next) => onChange({ team: next, content })}
          options={teams}
        />
      )}
      {canSendContent && (
        <CheckboxField
          label="Send prompts and answers"
          name="content"
          description="Those that content capture stores, as guardrails leave them. The service keeps them by its own rules."
          checked={content}
          onChange={(next) => onChange({ team, content: next })}
        />
      )}
    </>
  )
}

function headersOf(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.includes(':'))
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(':')
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()]
    }),
  )
}

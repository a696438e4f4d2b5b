/** The fields of one rule of a guardrail. What it has besides them, by the API, is kept. */
import { Trash2 } from 'lucide-react'
import { IconButton } from '../../../ui/button.tsx'
import { NumberField, TextArea, TextField } from '../../../ui/form/field.tsx'
import { SelectField } from '../../../ui/form/select-field.tsx'
import { CheckboxField } from '../../../ui/form/toggle-fields.tsx'
import type { Rule } from './queries.ts'

type Kind = Rule['kind']
type RuleOf<Name extends Kind> = Extract<Rule, { readonly kind: Name }>

export const KINDS: Readonly<Record<Kind, string>> = {
  secrets: 'Secrets',
  pii: 'Personal data',
  regex: 'Words or pattern',
  max_prompt: 'Prompt size',
  tools: 'Allowed tools',
  http: 'HTTP hook',
}

const KIND_NOTES: Readonly<Record<Kind, string>> = {
  secrets: 'API keys of well-known services, JSON Web Tokens and private keys.',
  pii: 'E-mail addresses, phone numbers, card numbers, IBANs and US social security numbers.',
  regex: 'A pattern in RE2 syntax, or whole words.',
  max_prompt: 'Blocks longer prompts.',
  tools: 'Blocks requests with other tools.',
  http: 'Asks your own service.',
}

export const NEW_RULE: Rule = { kind: 'secrets', action: 'mask' }

const INITIAL: Readonly<Record<Kind, Rule>> = {
  secrets: NEW_RULE,
  pii: { kind: 'pii', action: 'mask' },
  regex: { kind: 'regex', action: 'block', words: [] },
  max_prompt: { kind: 'max_prompt' },
  tools: { kind: 'tools', allowed: [] },
  http: { kind: 'http', url: '' },
}

interface RuleFieldsProps {
  /** Counts from 0. */
  readonly position: number
  readonly rule: Rule
  readonly onChange: (rule: Rule) => void
  /** Undefined: it is the only one. */
  readonly onRemove: (() => void) | undefined
}

export function RuleFields({ position, rule, onChange, onRemove }: RuleFieldsProps) {
  return (
    <fieldset className="flex flex-col gap-4 rounded-lg border border-line p-3">
      <legend className="px-1 text-sm font-medium text-soft">Rule {position + 1}</legend>
      <div className="flex items-end gap-2">
        <SelectField
          label="Finds"
          className="min-w-0 flex-1"
          value={rule.kind}
          onChange={(kind) => onChange(INITIAL[kind])}
          options={(Object.keys(KINDS) as Kind[]).map((kind) => ({ value: kind, label: KINDS[kind] }))}
        />
        {onRemove !== undefined && (
          <IconButton label={`Remove rule ${position + 1}`} icon={Trash2} onClick={onRemove} />
        )}
      </div>
      <p className="text-sm text-soft">{KIND_NOTES[rule.kind]}</p>
      {'action' in rule && rule.kind !== 'max_prompt' && rule.kind !== 'tools' && (
        <ActionField rule={rule} onChange={onChange} />
      )}
      {rule.kind === 'regex' && <RegexFields rule={rule} onChange={onChange} />}
      {rule.kind === 'max_prompt' && <SizeFields rule={rule} onChange={onChange} />}
      {rule.kind === 'tools' && (
        <TextArea
          label="Allowed tools"
          name={`rules[${position}].allowed`}
          value={rule.allowed.join('\n')}
          onChange={(text) => onChange({ ...rule, allowed: text.split('\n') })}
          rows={3}
          mono
          description="One name a line."
        />
      )}
      {rule.kind === 'http' && <HookFields position={position} rule={rule} onChange={onChange} />}
    </fieldset>
  )
}

interface FieldsProps<Name extends Kind> {
  readonly rule: RuleOf<Name>
  readonly onChange: (rule: Rule) => void
}

function ActionField({ rule, onChange }: FieldsProps<'secrets' | 'pii' | 'regex' | 'http'>) {
  return (
    <SelectField
      label="Then"
      value={rule.action ?? 'mask'}
      onChange={(action) => onChange({ ...rule, action })}
      options={[
        { value: 'mask', label: 'Mask what is found' },
        { value: 'block', label: 'Block the request or answer' },
      ]}
    />
  )
}

function RegexFields({ rule, onChange }: FieldsProps<'regex'>) {
  const { pattern, words, ...rest } = rule
  return (
    <>
      <SelectField
        label="As"
        value={pattern === undefined ? 'words' : 'pattern'}
        onChange={(next) => onChange(next === 'words' ? { ...rest, words: [] } : { ...rest, pattern: '' })}
        options={[
          { value: 'words', label: 'Words or phrases' },
          { value: 'pattern', label: 'Pattern' },
        ]}
      />
      {pattern === undefined ? (
        <TextArea
          label="Words"
          value={(words ?? []).join('\n')}
          onChange={(text) => onChange({ ...rest, words: text.split('\n') })}
          rows={3}
          description="One a line. Case does not count."
        />
      ) : (
        <TextField
          label="Pattern"
          value={pattern}
          onChange={(next) => onChange({ ...rest, pattern: next })}
          maxLength={1_000}
          mono
        />
      )}
    </>
  )
}

function SizeFields({ rule, onChange }: FieldsProps<'max_prompt'>) {
  const { max_characters: characters, max_tokens: tokens, ...rest } = rule
  const set = (next: { readonly characters: number | undefined; readonly tokens: number | undefined }) =>
    onChange({
      ...rest,
      ...(next.characters !== undefined && { max_characters: next.characters }),
      ...(next.tokens !== undefined && { max_tokens: next.tokens }),
    })
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <NumberField
        label="Characters at most"
        value={characters}
        onChange={(value) => set({ characters: value, tokens })}
        min={1}
        whole
      />
      <NumberField
        label="Tokens at most"
        value={tokens}
        onChange={(value) => set({ characters, tokens: value })}
        min={1}
        whole
      />
    </div>
  )
}

const STAGES = [
  ['pre', 'The prompt'],
  ['stream', 'The answer, in pieces'],
  ['post', 'The whole answer'],
] as const

function HookFields({ position, rule, onChange }: FieldsProps<'http'> & { readonly position: number }) {
  const stages = rule.stages ?? ['pre']
  const toggle = (stage: (typeof stages)[number], isOn: boolean) =>
    onChange({ ...rule, stages: isOn ? [...stages, stage] : stages.filter((each) => each !== stage) })
  return (
    <>
      <TextField
        label="Address"
        name={`rules[${position}].url`}
        type="url"
        value={rule.url}
        onChange={(url) => onChange({ ...rule, url })}
        required
      />
      {rule.action === undefined && <ActionField rule={rule} onChange={onChange} />}
      <fieldset>
        <legend className="mb-1 font-medium text-ink">It sees</legend>
        {STAGES.map(([stage, label]) => (
          <CheckboxField
            key={stage}
            label={label}
            checked={stages.includes(stage)}
            onChange={(isOn) => toggle(stage, isOn)}
          />
        ))}
      </fieldset>
      <SelectField
        label="Without an answer in time"
        value={rule.fail ?? 'closed'}
        onChange={(fail) => onChange({ ...rule, fail })}
        options={[
          { value: 'closed', label: 'Block' },
          { value: 'open', label: 'Let pass' },
        ]}
      />
      <NumberField
        label="Time-out"
        suffix="ms"
        value={rule.timeout_ms ?? 2_000}
        onChange={(timeout = 2_000) => onChange({ ...rule, timeout_ms: timeout })}
        min={1}
        max={30_000}
        whole
      />
    </>
  )
}

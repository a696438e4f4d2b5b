import { useTeamOptions } from '../../api/names.ts'
import { Button } from '../../ui/button.tsx'
import { Combobox } from '../../ui/form/combobox.tsx'
import { NumberField, TextArea } from '../../ui/form/field.tsx'
import { Segmented } from '../../ui/form/segmented.tsx'
import { SelectField } from '../../ui/form/select-field.tsx'
import { CheckboxField, RadioGroupField } from '../../ui/form/toggle-fields.tsx'
import { Section } from '../../ui/page.tsx'
import { type CallableModel, longestAnswer } from './callable.ts'
import { supports } from './chat-request.ts'
import { problemText, type TextProblem } from './json-text.ts'
import { EFFORTS, EXAMPLE_TOOLS, type Format, problemsOf, type Settings, TOOL_CHOICES } from './settings.ts'

export interface SettingsFormProps {
  readonly settings: Settings
  readonly onChange: (change: Partial<Settings>) => void
  /** The chosen ones: what none of them supports is not offered. */
  readonly models: readonly CallableModel[]
}

export function SettingsForm(props: SettingsFormProps) {
  const can = (name: string) => props.models.some((model) => supports(model, name))
  const isBare = !['tools', 'response_format', ...PARAMETERS].some(can)
  return (
    <div className="flex flex-col gap-8">
      <TeamField {...props} />
      {isBare && <p className="text-soft">The selected models have no parameters.</p>}
      {PARAMETERS.some(can) && <Parameters {...props} can={can} />}
      {can('response_format') && <ResponseFormat {...props} />}
      {can('tools') && <Tools {...props} />}
    </div>
  )
}

/** Nothing where the account has no team. A run of the history may be of a team that is archived by now. */
function TeamField({ settings: { team }, onChange }: SettingsFormProps) {
  const options = useTeamOptions()
  if (options.length === 0 && team === '') return null
  return (
    <Combobox
      label="Team"
      description="Its limits and budgets apply as well, and the usage is the team’s."
      placeholder="None: the account itself"
      value={team}
      options={options}
      onChange={(next) => onChange({ team: next })}
    />
  )
}

const PARAMETERS = ['temperature', 'top_p', 'max_tokens', 'seed', 'stop', 'reasoning_effort'] as const

interface ParametersProps extends SettingsFormProps {
  readonly can: (name: string) => boolean
}

function Parameters({ settings, onChange, models, can }: ParametersProps) {
  const most = longestAnswer(models)
  const onlyFor = (name: string) => supportNote(models, name)
  return (
    <Section title="Parameters" description="Empty fields use the model’s defaults.">
      <div className="grid gap-4 sm:grid-cols-2">
        {can('temperature') && (
          <NumberField
            label="Temperature"
            description={onlyFor('temperature') ?? '0 to 2'}
            value={settings.temperature}
            onChange={(temperature) => onChange({ temperature })}
            min={0}
            max={2}
          />
        )}
        {can('top_p') && (
          <NumberField
            label="Top P"
            description={onlyFor('top_p') ?? '0 to 1'}
            value={settings.topP}
            onChange={(topP) => onChange({ topP })}
            min={0}
            max={1}
          />
        )}
        {can('max_tokens') && (
          <NumberField
            label="Max output"
            description={most === undefined ? 'In tokens' : `Up to ${most.toLocaleString('en-US')} tokens`}
            suffix="tokens"
            value={settings.maxTokens}
            onChange={(maxTokens) => onChange({ maxTokens })}
            min={1}
            max={most}
            whole
          />
        )}
        {can('seed') && (
          <NumberField
            label="Seed"
            description={onlyFor('seed') ?? 'The same seed gives similar answers'}
            value={settings.seed}
            onChange={(seed) => onChange({ seed })}
            whole
          />
        )}
        {can('reasoning_effort') && (
          <SelectField
            label="Reasoning effort"
            description={onlyFor('reasoning_effort')}
            value={settings.effort}
            onChange={(effort) => onChange({ effort })}
            options={EFFORTS.map((value) => ({ value, label: value === '' ? 'Model default' : value }))}
          />
        )}
        {can('stop') && (
          <TextArea
            label="Stop sequences"
            description={onlyFor('stop') ?? 'One per line, at most four'}
            value={settings.stop}
            onChange={(stop) => onChange({ stop })}
            error={errorText(problemsOf(settings).stop)}
            rows={2}
            mono
          />
        )}
      </div>
    </Section>
  )
}

/** Whom it is not sent to. */
function supportNote(models: readonly CallableModel[], name: string): string | undefined {
  const without = models.filter((model) => !supports(model, name))
  return without.length === 0 ? undefined : `Not sent to ${[...new Set(without.map(({ id }) => id))].join(', ')}`
}

const FORMATS: readonly { readonly value: Format; readonly label: string; readonly description?: string }[] = [
  { value: 'text', label: 'Text' },
  { value: 'json_object', label: 'JSON object', description: 'Name the fields in the prompt.' },
  { value: 'json_schema', label: 'JSON schema', description: 'The answer follows the schema below.' },
]

function ResponseFormat({ settings, onChange, models }: SettingsFormProps) {
  const { format, schema, isStrict } = settings
  return (
    <Section title="Response format" description={supportNote(models, 'response_format')}>
      <div className="flex flex-col gap-4">
        <RadioGroupField
          label="Response format"
          hideLabel
          value={format}
          onChange={(next) => onChange({ format: next })}
          options={FORMATS}
        />
        {format === 'json_schema' && (
          <>
            <TextArea
              label="Schema"
              value={schema}
              onChange={(next) => onChange({ schema: next })}
              error={errorText(problemsOf(settings).schema)}
              rows={10}
              mono
              spellCheck={false}
            />
            <CheckboxField
              label="Strict"
              description="Every field is required, and no others are allowed."
              checked={isStrict}
              onChange={(next) => onChange({ isStrict: next })}
            />
          </>
        )}
      </div>
    </Section>
  )
}

const CHOICE_LABELS = { auto: 'Auto', required: 'Required', none: 'None' } as const

function Tools({ settings, onChange, models }: SettingsFormProps) {
  const { tools, toolChoice } = settings
  return (
    <Section
      title="Tools"
      description={supportNote(models, 'tools')}
      actions={
        tools.trim() === '' && (
          <Button size="sm" onClick={() => onChange({ tools: EXAMPLE_TOOLS })}>
            Insert example
          </Button>
        )
      }
    >
      <div className="flex flex-col gap-4">
        <TextArea
          label="Functions"
          description="A JSON list of function tools. You answer the calls; nothing is executed."
          value={tools}
          onChange={(next) => onChange({ tools: next })}
          error={errorText(problemsOf(settings).tools)}
          rows={12}
          mono
          spellCheck={false}
        />
        {tools.trim() !== '' && (
          <Segmented
            label="Tool choice"
            value={toolChoice}
            onChange={(next) => onChange({ toolChoice: next })}
            options={TOOL_CHOICES.map((value) => ({ value, label: CHOICE_LABELS[value] }))}
          />
        )}
      </div>
    </Section>
  )
}

function errorText(problem: TextProblem | undefined): string | undefined {
  return problem === undefined ? undefined : problemText(problem)
}

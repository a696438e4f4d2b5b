import { formatPrice } from '../../lib/format.ts'
import { Button } from '../../ui/button.tsx'
import { Combobox, type ComboboxOption } from '../../ui/choices.tsx'
import { NumberField, TextArea, TextField } from '../../ui/field.tsx'
import {
  type Draft,
  MAX_COST_USD,
  MAX_NAME_LENGTH,
  MAX_PROMPT_LENGTH,
  MAX_STEPS,
  repositoryIn,
  repositoryProblem,
  USUAL_STEPS,
} from './draft.ts'
import { type Model, recentOf } from './queries.ts'
import { TEMPLATES } from './templates.ts'

export interface DraftFieldsProps {
  readonly draft: Draft
  readonly onChange: (change: Partial<Draft>) => void
  readonly models: readonly Model[]
  readonly areModelsPending: boolean
  readonly repositories: readonly string[]
}

export function DraftFields(props: DraftFieldsProps) {
  const { draft, onChange } = props
  return (
    <>
      <Repository {...props} />
      <Task {...props} />
      <TextField
        label="Name"
        name="name"
        required
        description="What this agent is called in lists and in its commits."
        maxLength={MAX_NAME_LENGTH}
        autoComplete="off"
        value={draft.name}
        onChange={(name) => onChange({ name })}
      />
      <ModelField {...props} />
      <div className="grid grid-cols-1 gap-5 sm:grid-cols-2">
        <NumberField
          label="Budget of a run"
          name="max_cost_usd"
          description="Empty: what the account has."
          prefix="$"
          suffix="USD"
          min={0.000000001}
          max={MAX_COST_USD}
          value={draft.maxCostUsd}
          onChange={(maxCostUsd) => onChange({ maxCostUsd })}
        />
        <NumberField
          label="Steps of a run"
          name="max_steps"
          description={`Calls of the model, ${MAX_STEPS} at most.`}
          whole
          min={1}
          max={MAX_STEPS}
          placeholder={String(USUAL_STEPS)}
          value={draft.maxSteps}
          onChange={(maxSteps) => onChange({ maxSteps })}
        />
      </div>
    </>
  )
}

type PartProps = Pick<DraftFieldsProps, 'draft' | 'onChange'>

function Repository({ draft, onChange, repositories }: DraftFieldsProps) {
  const recent = recentOf(repositories)
  return (
    <div className="grid grid-cols-1 gap-5 sm:grid-cols-[minmax(0,2fr)_minmax(0,1fr)]">
      <div className="flex flex-col gap-2">
        <TextField
          label="Repository"
          name="repository"
          required
          mono
          placeholder="organisation/repository"
          autoComplete="off"
          spellCheck={false}
          value={draft.repository}
          error={repositoryProblem(draft.repository)}
          onChange={(text) => onChange({ repository: repositoryIn(text) })}
        />
        {recent.length > 0 && (
          // biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields, and these are shortcuts to one
          <div role="group" aria-label="Recent repositories" className="flex flex-wrap gap-1.5">
            {recent.map((repository) => (
              <Button key={repository} size="sm" className="max-w-full" onClick={() => onChange({ repository })}>
                <span className="truncate">{repository}</span>
              </Button>
            ))}
          </div>
        )}
      </div>
      <TextField
        label="Base branch"
        name="branch"
        mono
        placeholder="default branch"
        autoComplete="off"
        spellCheck={false}
        value={draft.branch}
        onChange={(branch) => onChange({ branch })}
      />
    </div>
  )
}

function Task({ draft, onChange }: PartProps) {
  return (
    <div className="flex flex-col gap-2">
      <TextArea
        label="Task"
        name="prompt"
        required
        rows={8}
        maxLength={MAX_PROMPT_LENGTH}
        placeholder="What is to be done, how to check it, and what to leave alone."
        value={draft.prompt}
        onChange={(prompt) => onChange({ prompt })}
      />
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields, and these are shortcuts to one */}
      <div role="group" aria-label="Templates" className="flex flex-wrap gap-1.5">
        {TEMPLATES.map(({ label, prompt }) => (
          <Button
            key={label}
            size="sm"
            onClick={() => onChange({ prompt, ...(draft.name.trim() === '' && { name: label }) })}
          >
            {label}
          </Button>
        ))}
      </div>
    </div>
  )
}

function ModelField({ draft, onChange, models, areModelsPending }: DraftFieldsProps) {
  const none = !areModelsPending && models.length === 0
  return (
    <Combobox
      label="Model"
      name="model"
      description="Those that can call functions, with their prices per million tokens in and out."
      placeholder="The operator’s choice"
      error={none ? 'No model here can call functions. The operator connects a provider that has one.' : undefined}
      value={draft.model}
      options={models.map(optionOf)}
      onChange={(model) => onChange({ model })}
    />
  )
}

function optionOf({ id, pricing }: Model): ComboboxOption {
  const prices = [pricing?.input_per_million, pricing?.output_per_million]
  return { value: id, label: id, hint: prices.map((price) => formatPrice(price ?? null)).join(' / ') }
}

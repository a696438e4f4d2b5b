/** A task for an agent. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api, take } from '../../api/client.ts'
import { useCan } from '../../api/me.ts'
import { useTeamOptions } from '../../api/names.ts'
import { problemOf } from '../../api/problem.ts'
import { formatPrice } from '../../lib/format.ts'
import { toast } from '../../ui/announcer.tsx'
import { Button } from '../../ui/button.tsx'
import { CodeBlock, CommandBlock } from '../../ui/code.tsx'
import { Combobox, type ComboboxOption } from '../../ui/form/combobox.tsx'
import { NumberField, TextArea, TextField } from '../../ui/form/field.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Card, Page } from '../../ui/page.tsx'
import { Forbidden } from '../../ui/states.tsx'
import {
  createCommand,
  type Draft,
  EMPTY,
  MAX_COST_USD,
  MAX_NAME_LENGTH,
  MAX_PROMPT_LENGTH,
  MAX_STEPS,
  missingOf,
  orderOf,
  repositoryIn,
  repositoryProblem,
  TEMPLATES,
  USUAL_STEPS,
  useIdempotencyKey,
} from './draft.ts'
import { agentModelsQuery, type Model, recentOf, repositoriesQuery } from './queries.ts'

const PARENT = { to: '/agents', label: 'Agents' }

export function NewAgentPage() {
  const mayWrite = useCan('agents:write')
  return (
    <Page title="New agent" parent={PARENT} description="It starts at once, on its own branch.">
      {mayWrite ? <NewAgent /> : <Forbidden what="the form for new agents" right="agents:write" />}
    </Page>
  )
}

function NewAgent() {
  const [draft, setDraft] = useState<Draft>(EMPTY)
  const { data: models = [], isPending } = useQuery(agentModelsQuery)
  const { data: repositories = [] } = useQuery(repositoriesQuery)
  const { submit, isUnavailable } = useCreation(draft)
  const navigate = useNavigate()
  return (
    <div className="grid grid-cols-1 items-start gap-8 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
      <Form
        submitLabel="Start agent"
        onSubmit={submit}
        onCancel={() => void navigate({ to: '/agents' })}
        missing={missingOf(draft)}
      >
        {isUnavailable && <Unavailable />}
        <DraftFields
          draft={draft}
          onChange={(change) => setDraft({ ...draft, ...change })}
          models={models}
          areModelsPending={isPending}
          repositories={repositories}
        />
      </Form>
      <Card className="flex flex-col gap-3 lg:sticky lg:top-20">
        <h2 className="font-medium text-ink">API call</h2>
        <CodeBlock
          code={createCommand(location.origin, orderOf(draft), 2)}
          language="curl"
          label="API call as a shell command"
          maxHeight="24rem"
        />
        <p className="text-sm text-soft">Its model calls are charged to this account, with your rights and limits.</p>
      </Card>
    </div>
  )
}

/** One agent, however often the button is pressed. */
function useCreation(draft: Draft) {
  const [isUnavailable, setUnavailable] = useState(false)
  const { keyFor } = useIdempotencyKey()
  const client = useQueryClient()
  const navigate = useNavigate()
  const submit = async (): Promise<void> => {
    setUnavailable(false)
    const body = orderOf(draft)
    try {
      const agent = await take(
        api.POST('/v1/agents', { body, params: { header: { 'idempotency-key': keyFor(body) } } }),
      )
      void client.invalidateQueries({ queryKey: ['/v1/agents'] })
      toast('The agent is queued.')
      await navigate({ to: '/agents/$agentId', params: { agentId: agent.id } })
    } catch (error) {
      setUnavailable(problemOf(error).code === 'agents_unavailable')
      throw error
    }
  }
  return { submit, isUnavailable }
}

function Unavailable() {
  return (
    <div className="flex flex-col gap-2">
      <p className="text-soft">
        Ask the operator of this gateway. This command shows what is missing, and tries again:
      </p>
      <CommandBlock command="turnpike doctor" label="Command that checks the requirements of agents" />
    </div>
  )
}

interface DraftFieldsProps {
  readonly draft: Draft
  readonly onChange: (change: Partial<Draft>) => void
  readonly models: readonly Model[]
  readonly areModelsPending: boolean
  readonly repositories: readonly string[]
}

function DraftFields(props: DraftFieldsProps) {
  const { draft, onChange } = props
  return (
    <>
      <Repository {...props} />
      <Task {...props} />
      <TextField
        label="Name"
        name="name"
        required
        description="Shown in lists and in its commits."
        maxLength={MAX_NAME_LENGTH}
        autoComplete="off"
        value={draft.name}
        onChange={(name) => onChange({ name })}
      />
      <ModelField {...props} />
      <TeamField {...props} />
      <div className="grid grid-cols-1 gap-5 sm:grid-cols-2">
        <NumberField
          label="Budget of a run"
          name="max_cost_usd"
          description="Empty: the credit of the account."
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
          description={`Calls of the model, at most ${MAX_STEPS}.`}
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
        placeholder="What to do, how to verify it, and what not to change."
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
      description="Models with tool calls, with their prices per million tokens in and out."
      placeholder="Default model"
      error={none ? 'No model here supports tool calls. Ask the operator to add a provider that has one.' : undefined}
      value={draft.model}
      options={models.map(optionOf)}
      onChange={(model) => onChange({ model })}
    />
  )
}

/** Nothing where the account has no team. */
function TeamField({ draft, onChange }: PartProps) {
  const options = useTeamOptions()
  if (options.length === 0) return null
  return (
    <Combobox
      label="Team"
      name="team_id"
      description="Its limits and budgets apply as well, and the usage is the team’s."
      placeholder="None: the account itself"
      value={draft.team}
      options={options}
      onChange={(team) => onChange({ team })}
    />
  )
}

function optionOf({ id, pricing }: Model): ComboboxOption {
  const prices = [pricing?.input_per_million, pricing?.output_per_million]
  return { value: id, label: id, hint: prices.map((price) => formatPrice(price ?? null)).join(' / ') }
}

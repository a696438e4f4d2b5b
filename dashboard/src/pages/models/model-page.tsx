import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { Boxes, Columns3, SquareTerminal } from 'lucide-react'
import { useCan } from '../../api/me.ts'
import { type ListedModel, modelsQuery } from '../../api/models.ts'
import {
  type ApiSample,
  embeddingSamples,
  messageSamples,
  rerankSamples,
  responseSamples,
} from '../../lib/api-samples.ts'
import { chatSamples } from '../../lib/code-samples.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { LinkButton } from '../../ui/button.tsx'
import { CodeTabs } from '../../ui/code.tsx'
import { CopyableId } from '../../ui/copy.tsx'
import { Card, CardTitle, Page } from '../../ui/page.tsx'
import { Empty, Forbidden, Loaded, SkeletonRows } from '../../ui/states.tsx'
import { StatusChip } from '../../ui/status.tsx'
import { useNow } from '../../ui/time-zone.ts'
import { nearestNames } from './listing.ts'
import { FactsCard, ParametersCard, PricesCard, ProvidersCard } from './model-facts.tsx'
import { ModelUse } from './model-use.tsx'
import { ModelsPage } from './models-page.tsx'
import { retirementOf } from './words.ts'

const PARENT = { to: '/models', label: 'Models & Pricing' } as const

/** The rest of the address is the ID, which may have slashes in it. Without one, the router comes here for the list as well. */
export function ModelPage() {
  const { _splat: id = '' } = useParams({ strict: false })
  return id === '' ? <ModelsPage /> : <ModelOfId key={id} id={id} />
}

function ModelOfId({ id }: { readonly id: string }) {
  const mayList = useCan('models:read')
  const models = useQuery({ ...modelsQuery, enabled: mayList })
  if (!mayList || models.data === undefined) {
    return (
      <Page title={id} parent={PARENT}>
        {mayList ? (
          <Loaded query={models} what="this model" skeleton={<SkeletonRows rows={8} />}>
            {() => null}
          </Loaded>
        ) : (
          <Forbidden what="models" right="models:read" />
        )}
      </Page>
    )
  }
  const model = models.data.find((each) => each.id === id)
  if (model === undefined) return <NotFound id={id} models={models.data} />
  const aliases = models.data.filter(({ alias_of: target }) => target === model.id).map((alias) => alias.id)
  return <Model model={model} aliases={aliases} />
}

function NotFound({ id, models }: { readonly id: string; readonly models: readonly ListedModel[] }) {
  const near = nearestNames(
    id,
    models.map((model) => model.id),
  )
  return (
    <Page title="Model not found" parent={PARENT}>
      <Empty
        icon={Boxes}
        title={`There is no model “${id.slice(0, 100)}” here`}
        action={<LinkButton to="/models">See all models</LinkButton>}
      >
        {near.length === 0 ? 'No listed model has this name.' : <Nearest names={near} />}
      </Empty>
    </Page>
  )
}

function Nearest({ names }: { readonly names: readonly string[] }) {
  return (
    <>
      Similar names:{' '}
      {names.map((name, index) => (
        <span key={name}>
          {index > 0 && (index === names.length - 1 ? ' and ' : ', ')}
          <AppLink to="/models/$" params={{ _splat: name }} className="font-mono text-sm text-accent underline">
            {name}
          </AppLink>
        </span>
      ))}
      .
    </>
  )
}

interface ModelProps {
  readonly model: ListedModel
  readonly aliases: readonly string[]
}

function Model({ model, aliases }: ModelProps) {
  return (
    <Page title={model.name} parent={PARENT} description={<Names model={model} />} actions={<Actions model={model} />}>
      <div className="grid items-start gap-4 lg:grid-cols-3">
        <h2 className="sr-only">About this model</h2>
        <div className="flex min-w-0 flex-col gap-4 lg:col-span-2">
          <PricesCard model={model} />
          <ModelUse model={model.alias_of ?? model.id} />
          {model.pricing !== null && <ModelCode model={model} />}
        </div>
        <div className="flex min-w-0 flex-col gap-4">
          <FactsCard model={model} aliases={aliases} />
          <ProvidersCard model={model} />
          <ParametersCard model={model} />
        </div>
      </div>
    </Page>
  )
}

function Names({ model }: { readonly model: ListedModel }) {
  const retirement = retirementOf(model.deprecation_date, useNow())
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <CopyableId id={model.id} />
      {model.pricing === null && <StatusChip tone="neutral">Not priced</StatusChip>}
      {retirement !== undefined && <StatusChip tone={retirement.isOver ? 'bad' : 'warn'}>{retirement.text}</StatusChip>}
    </div>
  )
}

function Actions({ model: { id, pricing } }: { readonly model: ListedModel }) {
  const mayChat = useCan('chat')
  return (
    <>
      <LinkButton to="/models" search={{ compare: id, view: 'compare' }} icon={Columns3}>
        Estimate cost
      </LinkButton>
      {mayChat && pricing !== null && (
        <LinkButton to="/playground" search={{ models: id }} icon={SquareTerminal} variant="primary">
          Try in Playground
        </LinkButton>
      )}
    </>
  )
}

/** How the model is called in each API that has it, with the address of this very installation. */
function ModelCode({ model }: { readonly model: ListedModel }) {
  return (
    <Card>
      <CardTitle className="mb-2">Call it</CardTitle>
      <CodeTabs label="Language of the example" tabs={samplesOf(model)} />
    </Card>
  )
}

function samplesOf({ id: model, kind }: ListedModel): readonly ApiSample[] {
  const { origin } = location
  if (kind === 'embedding') return embeddingSamples({ origin, model })
  if (kind === 'rerank') return rerankSamples({ origin, model })
  const messages = [{ role: 'user', content: 'Say hello.' }]
  const { curl, python, typescript } = chatSamples({ baseUrl: `${origin}/v1`, model, messages })
  return [
    { id: 'curl', label: 'curl', code: curl },
    { id: 'python', label: 'Python', code: python },
    { id: 'typescript', label: 'TypeScript', code: typescript },
    ...responseSamples({ origin, model }),
    ...messageSamples({ origin, model }),
  ]
}

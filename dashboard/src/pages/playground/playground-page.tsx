import { useQuery } from '@tanstack/react-query'
import { useCan } from '../../api/me.ts'
import { LinkButton } from '../../ui/button.tsx'
import { Page } from '../../ui/page.tsx'
import { Empty, Forbidden, Loaded, Skeleton } from '../../ui/states.tsx'
import { NOTE, Playground, TITLE } from './playground.tsx'
import { callableModelsQuery } from './queries.ts'

export function PlaygroundPage() {
  if (useCan('chat')) return <WithModels />
  return (
    <Page title={TITLE}>
      <Forbidden what="the playground" right="chat" />
    </Page>
  )
}

function WithModels() {
  const query = useQuery(callableModelsQuery)
  if (query.data !== undefined && query.data.length > 0) return <Playground models={query.data} />
  return (
    <Page title={TITLE} description={NOTE} wide>
      <Loaded query={query} what="the models" skeleton={<Skeleton className="h-96 rounded-xl" />}>
        {() => (
          <Empty
            title="No model can be called yet"
            action={<LinkButton to="/models">See all models</LinkButton>}
            command="turnpike doctor"
          >
            Once a provider is configured and its models have prices, they can be tried here.
          </Empty>
        )}
      </Loaded>
    </Page>
  )
}

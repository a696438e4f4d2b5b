/** Every view and its address. A view's code is loaded when it is first gone to; what of its state is in the URL is read here. */
import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router'
import { meQuery } from './api/me.ts'
import { readAgentsSearch } from './pages/agents/search.ts'
import { readBillingSearch } from './pages/billing/search.ts'
import { readHomeSearch } from './pages/home/search.ts'
import { readModelsSearch } from './pages/models/search.ts'
import { readPlaygroundSearch } from './pages/playground/search.ts'
import { readRequestsSearch } from './pages/requests/search.ts'
import {
  readAccountsSearch,
  readAuditSearch,
  readBudgetsSearch,
  readDevicesSearch,
  readKeysSearch,
  readListSearch,
  readMembersSearch,
  readProvidersSearch,
  readTeamSearch,
  readTeamsSearch,
} from './pages/settings/search.ts'
import { readUsageSearch } from './pages/usage/search.ts'
import { readWebhookSearch, readWebhooksSearch } from './pages/webhooks/search.ts'
import { LostPage, PageFailed, PagePending, Shell } from './shell/shell.tsx'

interface RouterContext {
  readonly queryClient: QueryClient
}

const root = createRootRouteWithContext<RouterContext>()({
  loader: ({ context }) => context.queryClient.ensureQueryData(meQuery),
  component: Shell,
  notFoundComponent: LostPage,
  errorComponent: PageFailed,
})
const at = () => root

const home = createRoute({
  getParentRoute: at,
  path: '/',
  validateSearch: readHomeSearch,
  component: lazyRouteComponent(() => import('./pages/home/home-page.tsx'), 'HomePage'),
})
const playground = createRoute({
  getParentRoute: at,
  path: '/playground',
  validateSearch: readPlaygroundSearch,
  component: lazyRouteComponent(() => import('./pages/playground/playground-page.tsx'), 'PlaygroundPage'),
})
const models = createRoute({
  getParentRoute: at,
  path: '/models',
  validateSearch: readModelsSearch,
  component: lazyRouteComponent(() => import('./pages/models/models-page.tsx'), 'ModelsPage'),
})
const model = createRoute({
  getParentRoute: at,
  path: '/models/$',
  component: lazyRouteComponent(() => import('./pages/models/model-page.tsx'), 'ModelPage'),
})
const usage = createRoute({
  getParentRoute: at,
  path: '/usage',
  validateSearch: readUsageSearch,
  component: lazyRouteComponent(() => import('./pages/usage/usage-page.tsx'), 'UsagePage'),
})
const requests = createRoute({
  getParentRoute: at,
  path: '/requests',
  validateSearch: readRequestsSearch,
  component: lazyRouteComponent(() => import('./pages/requests/requests-page.tsx'), 'RequestsPage'),
})
const agents = createRoute({
  getParentRoute: at,
  path: '/agents',
  validateSearch: readAgentsSearch,
  component: lazyRouteComponent(() => import('./pages/agents/agents-page.tsx'), 'AgentsPage'),
})
const newAgent = createRoute({
  getParentRoute: at,
  path: '/agents/new',
  component: lazyRouteComponent(() => import('./pages/agents/new-agent-page.tsx'), 'NewAgentPage'),
})
const agent = createRoute({
  getParentRoute: at,
  path: '/agents/$agentId',
  validateSearch: readListSearch,
  component: lazyRouteComponent(() => import('./pages/agents/agent-page.tsx'), 'AgentPage'),
})
const webhooks = createRoute({
  getParentRoute: at,
  path: '/webhooks',
  validateSearch: readWebhooksSearch,
  component: lazyRouteComponent(() => import('./pages/webhooks/webhooks-page.tsx'), 'WebhooksPage'),
})
const webhook = createRoute({
  getParentRoute: at,
  path: '/webhooks/$webhookId',
  validateSearch: readWebhookSearch,
  component: lazyRouteComponent(() => import('./pages/webhooks/webhook-page.tsx'), 'WebhookPage'),
})
const billing = createRoute({
  getParentRoute: at,
  path: '/billing',
  validateSearch: readBillingSearch,
  component: lazyRouteComponent(() => import('./pages/billing/billing-page.tsx'), 'BillingPage'),
})
const invoice = createRoute({
  getParentRoute: at,
  path: '/billing/invoices/$invoiceId',
  component: lazyRouteComponent(() => import('./pages/billing/invoice-page.tsx'), 'InvoicePage'),
})

const settings = createRoute({
  getParentRoute: at,
  path: '/settings',
  component: lazyRouteComponent(() => import('./pages/settings/settings-frame.tsx'), 'SettingsFrame'),
})
const inSettings = () => settings
const settingsStart = createRoute({
  getParentRoute: inSettings,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/settings/keys', replace: true })
  },
})
const keys = createRoute({
  getParentRoute: inSettings,
  path: '/keys',
  validateSearch: readKeysSearch,
  component: lazyRouteComponent(() => import('./pages/settings/keys/keys-page.tsx'), 'KeysPage'),
})
const providerKeys = createRoute({
  getParentRoute: inSettings,
  path: '/provider-keys',
  component: lazyRouteComponent(
    () => import('./pages/settings/provider-keys/provider-keys-page.tsx'),
    'ProviderKeysPage',
  ),
})
const members = createRoute({
  getParentRoute: inSettings,
  path: '/members',
  validateSearch: readMembersSearch,
  component: lazyRouteComponent(() => import('./pages/settings/members/members-page.tsx'), 'MembersPage'),
})
const teams = createRoute({
  getParentRoute: inSettings,
  path: '/teams',
  validateSearch: readTeamsSearch,
  component: lazyRouteComponent(() => import('./pages/settings/teams/teams-page.tsx'), 'TeamsPage'),
})
const team = createRoute({
  getParentRoute: inSettings,
  path: '/teams/$teamId',
  validateSearch: readTeamSearch,
  component: lazyRouteComponent(() => import('./pages/settings/teams/team-page.tsx'), 'TeamPage'),
})
const budgets = createRoute({
  getParentRoute: inSettings,
  path: '/budgets',
  validateSearch: readBudgetsSearch,
  component: lazyRouteComponent(() => import('./pages/settings/budgets/budgets-page.tsx'), 'BudgetsPage'),
})
const guardrails = createRoute({
  getParentRoute: inSettings,
  path: '/guardrails',
  component: lazyRouteComponent(() => import('./pages/settings/guardrails/guardrails-page.tsx'), 'GuardrailsPage'),
})
const content = createRoute({
  getParentRoute: inSettings,
  path: '/content',
  component: lazyRouteComponent(() => import('./pages/settings/content/content-page.tsx'), 'ContentPage'),
})
const telemetry = createRoute({
  getParentRoute: inSettings,
  path: '/telemetry',
  component: lazyRouteComponent(() => import('./pages/settings/telemetry/telemetry-page.tsx'), 'TelemetryPage'),
})
const devices = createRoute({
  getParentRoute: inSettings,
  path: '/devices',
  validateSearch: readDevicesSearch,
  component: lazyRouteComponent(() => import('./pages/settings/devices/devices-page.tsx'), 'DevicesPage'),
})
const sessions = createRoute({
  getParentRoute: inSettings,
  path: '/sessions',
  component: lazyRouteComponent(() => import('./pages/settings/sessions/sessions-page.tsx'), 'SessionsPage'),
})
const providers = createRoute({
  getParentRoute: inSettings,
  path: '/providers',
  validateSearch: readProvidersSearch,
  component: lazyRouteComponent(() => import('./pages/settings/providers/providers-page.tsx'), 'ProvidersPage'),
})
const accounts = createRoute({
  getParentRoute: inSettings,
  path: '/accounts',
  validateSearch: readAccountsSearch,
  component: lazyRouteComponent(() => import('./pages/settings/accounts/accounts-page.tsx'), 'AccountsPage'),
})
const instances = createRoute({
  getParentRoute: inSettings,
  path: '/instances',
  component: lazyRouteComponent(() => import('./pages/settings/instances/instances-page.tsx'), 'InstancesPage'),
})
const audit = createRoute({
  getParentRoute: inSettings,
  path: '/audit',
  validateSearch: readAuditSearch,
  component: lazyRouteComponent(() => import('./pages/settings/audit/audit-page.tsx'), 'AuditPage'),
})
const appearance = createRoute({
  getParentRoute: inSettings,
  path: '/appearance',
  component: lazyRouteComponent(() => import('./pages/settings/appearance/appearance-page.tsx'), 'AppearancePage'),
})

const routeTree = root.addChildren([
  home,
  playground,
  models,
  model,
  usage,
  requests,
  agents,
  newAgent,
  agent,
  webhooks,
  webhook,
  billing,
  invoice,
  settings.addChildren([
    settingsStart,
    keys,
    providerKeys,
    members,
    teams,
    team,
    budgets,
    guardrails,
    content,
    telemetry,
    devices,
    sessions,
    providers,
    accounts,
    instances,
    audit,
    appearance,
  ]),
])

/** Search parameters stay what they are in the address: text. What has no value is not there. */
export function createAppRouter(queryClient: QueryClient) {
  return createRouter({
    routeTree,
    basepath: '/app',
    context: { queryClient },
    defaultPreload: 'intent',
    defaultPendingComponent: PagePending,
    defaultPendingMs: 200,
    defaultErrorComponent: PageFailed,
    scrollRestoration: true,
    // Pages see what they have read and checked, and nothing else of the address.
    search: { strict: true },
    parseSearch: (search) => Object.fromEntries(new URLSearchParams(search)),
    stringifySearch: (search) => {
      const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== '')
      const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
      return text === '' ? '' : `?${text}`
    },
  })
}

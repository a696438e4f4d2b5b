/** Where one can go: the list that the navigation, the palette and the shortcuts are made from. */
import {
  Bot,
  Boxes,
  ChartColumn,
  CreditCard,
  House,
  KeyRound,
  Laptop,
  List,
  type LucideIcon,
  MessageSquareText,
  MonitorSmartphone,
  Palette,
  PiggyBank,
  Plug,
  ScrollText,
  Server,
  Settings,
  ShieldCheck,
  SquareTerminal,
  Telescope,
  Unplug,
  Users,
  UsersRound,
  Wallet,
  Webhook,
} from 'lucide-react'

export interface Destination {
  readonly label: string
  readonly to: string
  readonly icon: LucideIcon
  /** The right without which there is nothing to see. */
  readonly right?: string
  /** `g` and this letter. */
  readonly letter?: string
}

export const MAIN: readonly Destination[] = [
  { label: 'Home', to: '/', icon: House, letter: 'h' },
  { label: 'Playground', to: '/playground', icon: SquareTerminal, right: 'chat', letter: 'p' },
  { label: 'Models & Pricing', to: '/models', icon: Boxes, right: 'models:read', letter: 'm' },
  { label: 'Usage', to: '/usage', icon: ChartColumn, right: 'usage:read', letter: 'u' },
  { label: 'Requests', to: '/requests', icon: List, right: 'usage:read', letter: 'r' },
  { label: 'Agents', to: '/agents', icon: Bot, right: 'agents:read', letter: 'a' },
  { label: 'Webhooks', to: '/webhooks', icon: Webhook, right: 'webhooks', letter: 'w' },
  { label: 'Billing', to: '/billing', icon: CreditCard, right: 'billing', letter: 'b' },
  { label: 'Settings', to: '/settings', icon: Settings, letter: 's' },
]

export const SETTINGS: readonly Destination[] = [
  { label: 'API keys', to: '/settings/keys', icon: KeyRound, right: 'keys', letter: 'k' },
  { label: 'Provider keys', to: '/settings/provider-keys', icon: Unplug, right: 'keys' },
  { label: 'Members', to: '/settings/members', icon: Users, right: 'members:read' },
  { label: 'Teams', to: '/settings/teams', icon: UsersRound, right: 'teams:read' },
  { label: 'Budgets', to: '/settings/budgets', icon: PiggyBank, right: 'usage:read' },
  { label: 'Guardrails', to: '/settings/guardrails', icon: ShieldCheck, right: 'guardrails' },
  { label: 'Content capture', to: '/settings/content', icon: MessageSquareText, right: 'content' },
  { label: 'Telemetry', to: '/settings/telemetry', icon: Telescope, right: 'webhooks' },
  { label: 'Connected devices', to: '/settings/devices', icon: MonitorSmartphone, right: 'devices' },
  { label: 'Sessions', to: '/settings/sessions', icon: Laptop },
  { label: 'Audit log', to: '/settings/audit', icon: ScrollText, right: 'audit' },
  { label: 'Appearance', to: '/settings/appearance', icon: Palette },
]

/** Of the whole installation. */
export const OPERATOR: readonly Destination[] = [
  { label: 'Providers', to: '/settings/providers', icon: Plug, right: 'operator' },
  { label: 'Accounts', to: '/settings/accounts', icon: Wallet, right: 'operator' },
  { label: 'Instances', to: '/settings/instances', icon: Server, right: 'operator' },
]

/** Those that somebody with these rights finds something at. */
export function reachable(list: readonly Destination[], rights: ReadonlySet<string>): readonly Destination[] {
  return list.filter(({ right }) => right === undefined || rights.has(right))
}

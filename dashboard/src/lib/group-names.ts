/** How groups are called. Names come from people and providers: they are text and nothing else. */
import { formatDate } from './time.ts'

export const GROUPS = ['model', 'key', 'day', 'agent'] as const
export type Group = (typeof GROUPS)[number]

export const GROUP_NAMES: Readonly<Record<Group, string>> = { model: 'Model', key: 'Key', day: 'Day', agent: 'Agent' }

export interface Named {
  readonly key: string
  readonly name?: string | null | undefined
}

export function groupLabel(group: Group, { key, name }: Named): string {
  switch (group) {
    case 'model':
      return key
    case 'day':
      return formatDate(key)
    case 'key':
      return name ?? `Unknown (${shortId(key)})`
    case 'agent':
      return name ?? `Deleted agent (${shortId(key)})`
  }
}

/** `key_…9Zz1`: enough to recognize it. */
export function shortId(id: string): string {
  const [prefix = '', rest = ''] = id.split('_')
  return rest.length > 8 ? `${prefix}_…${rest.slice(-4)}` : id
}

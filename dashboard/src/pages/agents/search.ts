/** What of the views is in their addresses. */
export interface AgentsSearch {
  readonly status?: string
  readonly repository?: string
}

export const STATUSES = ['queued', 'running', 'completed', 'failed', 'cancelled'] as const
export type Status = (typeof STATUSES)[number]

export function readAgentsSearch(raw: Record<string, unknown>): AgentsSearch {
  return {
    ...(typeof raw['status'] === 'string' && { status: raw['status'] }),
    ...(typeof raw['repository'] === 'string' && { repository: raw['repository'] }),
  }
}

/** Undefined for what is no status: people write addresses, too. */
export function statusIn({ status }: AgentsSearch): Status | undefined {
  return STATUSES.find((each) => each === status)
}

/** The tabs of an agent; `diff-split` is the diff with both sides beside each other. */
export const TABS = ['transcript', 'timeline', 'diff', 'diff-split', 'runs', 'events'] as const
export type AgentTab = (typeof TABS)[number]

export function tabIn(tab: string | undefined): AgentTab {
  return TABS.find((each) => each === tab) ?? 'transcript'
}

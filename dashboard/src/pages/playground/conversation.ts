/** The columns of the view: each has a model and its own conversation. A reducer; it must not know how requests are made. */
import { endRun, isLive, type Run, type RunEnd, type TimedEvent, withEvents, withHead } from './run.ts'

export interface Image {
  readonly id: string
  readonly name: string
  readonly dataUrl: string
  readonly bytes: number
}

export type Speaker = 'user' | 'assistant'

export interface MessageItem {
  readonly kind: 'message'
  readonly id: number
  readonly role: Speaker
  readonly text: string
  readonly images: readonly Image[]
}

export interface ToolAnswer {
  readonly callId: string
  readonly text: string
}

export interface AnswerItem {
  readonly kind: 'answer'
  /** That of its run. */
  readonly id: number
  readonly run: Run
  /** What the tools that it called were made to say. */
  readonly toolAnswers: readonly ToolAnswer[]
}

export type Item = MessageItem | AnswerItem

export interface Column {
  readonly id: number
  /** Empty: not chosen yet. */
  readonly model: string
  readonly items: readonly Item[]
}

export interface Conversation {
  readonly columns: readonly Column[]
  readonly lastColumnId: number
}

export type Action =
  | { readonly type: 'models'; readonly models: readonly string[] }
  | { readonly type: 'say'; readonly columnId: number; readonly messages: readonly MessageItem[]; readonly run: Run }
  | {
      readonly type: 'answer-tools'
      readonly columnId: number
      readonly answers: readonly ToolAnswer[]
      readonly run: Run
    }
  | { readonly type: 'retry'; readonly columnId: number; readonly run: Run }
  | { readonly type: 'head'; readonly runId: number; readonly head: Pick<Run, 'requestId' | 'warnings'> }
  | { readonly type: 'events'; readonly events: ReadonlyMap<number, readonly TimedEvent[]> }
  | { readonly type: 'end'; readonly runId: number; readonly end: RunEnd }
  | { readonly type: 'clear' }
  | { readonly type: 'restore'; readonly columns: readonly Column[] }

export function startConversation(models: readonly string[]): Conversation {
  return reduceConversation({ columns: [], lastColumnId: 0 }, { type: 'models', models })
}

export function reduceConversation(state: Conversation, action: Action): Conversation {
  switch (action.type) {
    case 'models':
      return withModels(state, action.models)
    case 'say':
      return inColumn(state, action.columnId, (items) => [...items, ...action.messages, answerItem(action.run)])
    case 'answer-tools':
      return inColumn(state, action.columnId, (items) => [
        ...changeLast(items, { toolAnswers: action.answers }),
        answerItem(action.run),
      ])
    case 'retry':
      return inColumn(state, action.columnId, (items) => changeLast(items, answerItem(action.run)))
    case 'head':
      return inRuns(state, (run) => (run.id === action.runId ? withHead(run, action.head) : run))
    case 'events':
      return inRuns(state, (run) => takeEvents(run, action.events.get(run.id)))
    case 'end':
      return inRuns(state, (run) => (run.id === action.runId ? endRun(run, action.end) : run))
    case 'clear':
      return { ...state, columns: state.columns.map((column) => ({ ...column, items: [] })) }
    case 'restore':
      return { ...state, columns: state.columns.map((column) => restored(column, action.columns)) }
  }
}

/** Its items come back, unless it has got others in the meantime. */
function restored(column: Column, former: readonly Column[]): Column {
  return column.items.length > 0 ? column : { ...column, items: former.find(({ id }) => id === column.id)?.items ?? [] }
}

export function runsOf({ columns }: Pick<Conversation, 'columns'>): readonly Run[] {
  return columns.flatMap(({ items }) => items.flatMap((item) => (item.kind === 'answer' ? [item.run] : [])))
}

/** The answer at the end of a conversation. */
export function lastAnswer({ items }: Pick<Column, 'items'>): AnswerItem | undefined {
  const last = items.at(-1)
  return last?.kind === 'answer' ? last : undefined
}

export function isColumnLive(column: Column): boolean {
  const last = lastAnswer(column)
  return last !== undefined && isLive(last.run)
}

function answerItem(run: Run): AnswerItem {
  return { kind: 'answer', id: run.id, run, toolAnswers: [] }
}

function changeLast(items: readonly Item[], change: Partial<AnswerItem>): readonly Item[] {
  return items.map((item, index) =>
    index === items.length - 1 && item.kind === 'answer' ? { ...item, ...change } : item,
  )
}

function takeEvents(run: Run, events: readonly TimedEvent[] | undefined): Run {
  return events === undefined ? run : withEvents(run, events)
}

function inColumn(
  state: Conversation,
  columnId: number,
  change: (items: readonly Item[]) => readonly Item[],
): Conversation {
  const columns = state.columns.map((column) =>
    column.id === columnId ? { ...column, items: change(column.items) } : column,
  )
  return { ...state, columns }
}

/** Columns in which nothing changes stay the same objects, so that they need not be drawn again. */
function inRuns(state: Conversation, change: (run: Run) => Run): Conversation {
  const columns = state.columns.map((column) => {
    const last = lastAnswer(column)
    if (last === undefined) return column
    const run = change(last.run)
    return run === last.run ? column : { ...column, items: changeLast(column.items, { run }) }
  })
  return { ...state, columns }
}

/**
 * The columns that the address asks for. A model that is there keeps its conversation wherever it goes; one that stands
 * where another stood goes on with the other's; so that the address alone says what is chosen.
 */
function withModels(state: Conversation, models: readonly string[]): Conversation {
  const left = [...state.columns]
  const take = (index: number): Column | undefined => (index === -1 ? undefined : left.splice(index, 1)[0])
  const kept = models.map((model) => take(left.findIndex((column) => column.model === model)))
  let lastColumnId = state.lastColumnId
  const columns = models.map((model, place) => {
    const known = kept[place] ?? take(left.findIndex((column) => column.id === state.columns[place]?.id))
    if (known !== undefined) return known.model === model ? known : { ...known, model }
    lastColumnId += 1
    return { id: lastColumnId, model, items: [] }
  })
  return { columns, lastColumnId }
}

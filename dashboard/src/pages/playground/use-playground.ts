import { useCallback, useMemo, useRef } from 'react'
import type { CallableModel } from './callable.ts'
import { chatRequest } from './chat-request.ts'
import { type Column, type Item, isColumnLive, lastAnswer, type ToolAnswer } from './conversation.ts'
import { beginRun, isLive, type Run } from './run.ts'
import { type Draft, messagesOf, nextId } from './use-draft.ts'
import { type Runs, useRuns } from './use-runs.ts'

export interface PlaygroundInput {
  readonly models: ReadonlyMap<string, CallableModel>
  /** One a column. */
  readonly chosen: readonly string[]
  readonly draft: Draft
}

/** What can be done in a column. The same functions as long as the view is open. */
export interface ColumnActions {
  readonly stop: (column: Column) => void
  readonly retry: (column: Column) => void
  readonly answerTools: (column: Column, answers: readonly ToolAnswer[]) => void
}

export interface PlaygroundState {
  readonly columns: readonly Column[]
  readonly isRunning: boolean
  readonly isEmpty: boolean
  readonly actions: ColumnActions
  /** Says what is drafted to every column whose model can be called. */
  readonly send: () => void
  readonly stopAll: () => void
  /** @returns What brings it back. */
  readonly clear: () => () => void
}

export function usePlayground(input: PlaygroundInput): PlaygroundState {
  const runs = useRuns(input.chosen)
  const { conversation, dispatch, start, stop } = runs
  const { columns } = conversation
  const latest = useRef(input)
  latest.current = input
  const begin = useCallback((column: Column, items: readonly Item[]) => beginIn(column, items, latest.current), [])
  const actions = useMemo(() => columnActions({ begin, dispatch, start, stop }), [begin, dispatch, start, stop])
  const send = () => {
    const messages = messagesOf(input.draft)
    for (const column of columns) {
      const run = begin(column, [...column.items, ...messages])
      if (run === undefined) continue
      dispatch({ type: 'say', columnId: column.id, messages, run })
      start(run)
    }
  }
  return {
    columns,
    actions,
    send,
    isRunning: columns.some(isColumnLive),
    isEmpty: columns.every(({ items }) => items.length === 0),
    stopAll: () => columns.forEach(actions.stop),
    clear: () => {
      dispatch({ type: 'clear' })
      return () => dispatch({ type: 'restore', columns: columns.map(settled) })
    },
  }
}

/** With what is set now. Undefined: the column has no model that can be called. */
function beginIn(column: Column, items: readonly Item[], { models, draft }: PlaygroundInput): Run | undefined {
  const model = models.get(column.model)
  if (model === undefined) return undefined
  const { system, settings } = draft
  const { body, leftOut } = chatRequest({ model, system, items, settings })
  const { team } = settings
  return beginRun({ id: nextId(), model: model.id, team, request: body, leftOut, startedAt: performance.now() })
}

interface ActionsInput extends Pick<Runs, 'dispatch' | 'start' | 'stop'> {
  readonly begin: (column: Column, items: readonly Item[]) => Run | undefined
}

function columnActions({ begin, dispatch, start, stop }: ActionsInput): ColumnActions {
  return {
    stop: (column) => {
      const last = lastAnswer(column)
      if (last !== undefined) stop(last.id)
    },
    retry: (column) => {
      const run = begin(column, column.items.slice(0, -1))
      if (run === undefined) return
      dispatch({ type: 'retry', columnId: column.id, run })
      start(run)
    },
    answerTools: (column, answers) => {
      const last = lastAnswer(column)
      if (last === undefined) return
      const run = begin(column, [...column.items.slice(0, -1), { ...last, toolAnswers: answers }])
      if (run === undefined) return
      dispatch({ type: 'answer-tools', columnId: column.id, answers, run })
      start(run)
    },
  }
}

/** A run that was under way when it was cleared away has been given up. */
function settled(column: Column): Column {
  const items = column.items.map((item) =>
    item.kind === 'answer' && isLive(item.run) ? { ...item, run: { ...item.run, status: 'stopped' as const } } : item,
  )
  return { ...column, items }
}

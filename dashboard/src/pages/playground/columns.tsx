import { FileJson, Plus, X } from 'lucide-react'
import { useEffect, useId, useRef } from 'react'
import { Button, IconButton } from '../../ui/button.tsx'
import { classNames } from '../../ui/class-names.ts'
import { Combobox, type ComboboxOption } from '../../ui/form/combobox.tsx'
import { AnswerView } from './answer.tsx'
import { type CallableModel, factsOf } from './callable.ts'
import { type Column, isColumnLive, type MessageItem } from './conversation.ts'
import { MAX_COLUMNS } from './search.ts'
import type { ColumnActions, PlaygroundState } from './use-playground.ts'

export interface ColumnsProps {
  readonly playground: PlaygroundState
  readonly models: ReadonlyMap<string, CallableModel>
  readonly options: readonly ComboboxOption[]
  readonly onChoose: (models: readonly string[]) => void
  /** @param number Counts from 1. */
  readonly onShowRaw: (number: number) => void
}

const GRIDS = ['', 'md:grid-cols-1', 'md:grid-cols-2', 'md:grid-cols-3'] as const

export function Columns({ playground, models, options, onChoose, onShowRaw }: ColumnsProps) {
  const { columns, isEmpty, actions } = playground
  const ids = columns.map(({ model }) => model)
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <div
        className={classNames(
          'grid min-w-0 gap-3',
          GRIDS[columns.length],
          !isEmpty && 'lg:h-[max(22rem,calc(100dvh-24rem))] lg:auto-rows-[100%]',
        )}
      >
        {columns.map((column, index) => (
          <ColumnView
            key={column.id}
            column={column}
            number={index + 1}
            model={models.get(column.model)}
            options={options}
            canRemove={columns.length > 1}
            actions={actions}
            onModel={(model) => onChoose(ids.with(index, model))}
            onRemove={() => onChoose(ids.toSpliced(index, 1))}
            onShowRaw={() => onShowRaw(index + 1)}
          />
        ))}
      </div>
      {columns.length < MAX_COLUMNS && (
        <div>
          <Button size="sm" variant="ghost" icon={Plus} onClick={() => onChoose([...ids, ''])}>
            Compare with another model
          </Button>
        </div>
      )}
    </div>
  )
}

interface ColumnProps {
  readonly column: Column
  /** Its place, from 1. */
  readonly number: number
  /** Undefined: none is chosen, or one that cannot be called. */
  readonly model: CallableModel | undefined
  readonly options: readonly ComboboxOption[]
  readonly canRemove: boolean
  readonly actions: ColumnActions
  readonly onModel: (model: string) => void
  readonly onRemove: () => void
  readonly onShowRaw: () => void
}

function ColumnView(props: ColumnProps) {
  const { column, number, model, options, canRemove, onModel, onRemove, onShowRaw } = props
  const id = useId()
  return (
    <section aria-labelledby={id} className="flex min-h-0 min-w-0 flex-col rounded-xl border border-line bg-surface">
      <h2 id={id} className="sr-only">{`Model ${number}${column.model === '' ? '' : `: ${column.model}`}`}</h2>
      <header className="flex items-start gap-1 border-b border-line p-2">
        <Combobox
          label={`Model ${number}`}
          hideLabel
          value={column.model}
          onChange={onModel}
          options={options}
          placeholder="Choose a model"
          foldedWord="retired"
          disabled={isColumnLive(column)}
          className="flex-1"
        />
        <IconButton
          label="Request and response"
          icon={FileJson}
          unavailable={column.items.length === 0 ? 'Nothing was sent yet.' : undefined}
          onClick={onShowRaw}
        />
        {canRemove && <IconButton label={`Remove model ${number}`} icon={X} onClick={onRemove} />}
      </header>
      {column.items.length === 0 ? <Hint column={column} model={model} /> : <Conversation {...props} />}
    </section>
  )
}

function Hint({ column, model }: Pick<ColumnProps, 'column' | 'model'>) {
  return (
    <div className="flex flex-col gap-1 px-4 py-6 text-center text-sm text-soft">
      <p>{hintOf(column, model)}</p>
      {model !== undefined && <p className="text-xs tabular-nums">{factsOf(model)}</p>}
    </div>
  )
}

function hintOf({ model: id }: Column, model: CallableModel | undefined): string {
  if (id === '') return 'Choose a model to see its answers here.'
  return model === undefined ? 'This model cannot be called here.' : 'Answers appear here.'
}

function Conversation({ column, actions, model }: ColumnProps) {
  const { box, content, onScroll } = useEndInSight(column.items.length)
  return (
    // biome-ignore lint/a11y/useSemanticElements: the column around it is the section
    <div
      ref={box}
      role="group"
      aria-label="Conversation"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what is beyond the edge is reached by keyboard
      tabIndex={0}
      onScroll={onScroll}
      className="min-h-0 flex-1 -outline-offset-2 lg:overflow-y-auto"
    >
      <div ref={content} className="flex min-w-0 flex-col gap-4 p-4">
        {column.items.map((item, index) =>
          item.kind === 'message' ? (
            <Message key={`message-${item.id}`} message={item} />
          ) : (
            <AnswerView
              key={`answer-${item.id}`}
              answer={item}
              isLast={index === column.items.length - 1}
              canRun={model !== undefined}
              onStop={() => actions.stop(column)}
              onRetry={() => actions.retry(column)}
              onToolAnswers={(answers) => actions.answerTools(column, answers)}
            />
          ),
        )}
      </div>
    </div>
  )
}

/** So near to the end, in pixels, is at it. */
const NEAR = 40

/** The end of a box stays in sight while its content grows, unless somebody has scrolled up to read. */
function useEndInSight(items: number) {
  const box = useRef<HTMLDivElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const isKept = useRef(true)
  const lastTop = useRef(0)
  useEffect(() => {
    if (items > 0) isKept.current = true
  }, [items])
  useEffect(() => {
    if (content.current === null) return undefined
    const observer = new ResizeObserver(() => {
      if (box.current !== null && isKept.current) box.current.scrollTop = box.current.scrollHeight
    })
    observer.observe(content.current)
    return () => observer.disconnect()
  }, [])
  const onScroll = () => {
    if (box.current === null) return
    const { scrollHeight, scrollTop, clientHeight } = box.current
    if (scrollHeight - scrollTop - clientHeight < NEAR) isKept.current = true
    else if (scrollTop < lastTop.current) isKept.current = false // content that grew is no scrolling up
    lastTop.current = scrollTop
  }
  return { box, content, onScroll }
}

function Message({ message: { role, text, images } }: { readonly message: MessageItem }) {
  return (
    <div className="rounded-lg bg-sunken px-3 py-2">
      <p className="text-xs font-medium text-soft">{role === 'user' ? 'User' : 'Assistant, given'}</p>
      {text !== '' && <p className="mt-0.5 break-words whitespace-pre-wrap text-ink">{text}</p>}
      {images.length > 0 && (
        <div className="mt-2 flex flex-wrap gap-2">
          {images.map(({ id, name, dataUrl }) => (
            <img key={id} src={dataUrl} alt={name} className="size-14 rounded-md border border-line object-cover" />
          ))}
        </div>
      )}
    </div>
  )
}

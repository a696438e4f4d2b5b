import { ImagePlus, MessageSquarePlus, Play, SlidersHorizontal, Square, X } from 'lucide-react'
import { type ClipboardEvent, type FormEvent, type KeyboardEvent, useId, useRef, useState } from 'react'
import { formatBytes } from '../../lib/format.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { classNames } from '../../ui/class-names.ts'
import { TextArea } from '../../ui/form/field.tsx'
import { SelectField } from '../../ui/form/select-field.tsx'
import type { CallableModel } from './callable.ts'
import { isSendKey, MESSAGE_ID } from './composer-keys.ts'
import type { Image, Speaker } from './conversation.ts'
import { IMAGE_TYPES, imageProblem, readImage } from './images.ts'
import { problemText } from './json-text.ts'
import { problemsOf, type Settings, summaryOf } from './settings.ts'
import { type Draft, type DraftMessage, draftMessage, messagesOf, type SetDraft } from './use-draft.ts'

export interface ComposerProps {
  readonly draft: Draft
  readonly setDraft: SetDraft
  /** Those of the columns that can be called. */
  readonly chosen: readonly CallableModel[]
  readonly isRunning: boolean
  readonly onSend: () => void
  readonly onStop: () => void
  readonly onSettings: () => void
}

/** The one input that all columns share. */
export function Composer({ draft, setDraft, chosen, isRunning, onSend, onStop, onSettings }: ComposerProps) {
  const problem = problemOfDraft(draft, chosen)
  const missing = isRunning ? 'An answer is running.' : missingOf(draft, chosen)
  const canSend = missing === undefined
  const { imageError, attach } = useImages(draft, { setDraft, chosen })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (canSend) onSend()
  }
  const listen = (event: KeyboardEvent) => {
    if (!isSendKey(event)) return
    event.preventDefault()
    if (canSend) onSend()
  }
  const paste = (event: ClipboardEvent) => {
    if (event.clipboardData.files.length === 0) return
    event.preventDefault()
    void attach([...event.clipboardData.files])
  }
  return (
    <form
      aria-label="Message to the models"
      onSubmit={submit}
      onKeyDown={listen}
      onPaste={paste}
      className="flex min-w-0 flex-col gap-3 rounded-xl border border-line bg-surface p-3"
    >
      <div className="grid min-w-0 gap-3 md:grid-cols-3">
        <TextArea
          label="System"
          value={draft.system}
          onChange={(system) => setDraft((now) => ({ ...now, system }))}
          placeholder="Instructions for the models"
          rows={3}
        />
        <DraftMessages draft={draft} setDraft={setDraft} className="md:col-span-2" />
      </div>
      <ImageTray images={draft.images} setDraft={setDraft} />
      <Problem text={imageError ?? problem} />
      <div className="flex flex-wrap items-center gap-2">
        <Button size="sm" variant="ghost" icon={SlidersHorizontal} onClick={onSettings}>
          Settings
        </Button>
        <SettingsSummary settings={draft.settings} />
        <Button
          size="sm"
          variant="ghost"
          icon={MessageSquarePlus}
          onClick={() => setDraft((now) => ({ ...now, messages: [...now.messages, draftMessage()] }))}
        >
          Add message
        </Button>
        {chosen.some(({ capabilities }) => capabilities.vision) && (
          <AttachButton onFiles={(files) => void attach(files)} />
        )}
        <div className="ml-auto flex items-center gap-3">
          <kbd className="hidden text-xs text-soft sm:inline">Ctrl Enter</kbd>
          <RunButton isRunning={isRunning} missing={missing} models={chosen.length} onStop={onStop} />
        </div>
      </div>
    </form>
  )
}

function missingOf(draft: Draft, chosen: readonly CallableModel[]): string | undefined {
  if (chosen.length === 0) return 'Choose a model.'
  if (problemOfDraft(draft, chosen) !== undefined) return 'Correct the draft first.'
  return messagesOf(draft).length === 0 ? 'Write a message first.' : undefined
}

interface RunButtonProps {
  readonly isRunning: boolean
  readonly missing: string | undefined
  readonly models: number
  readonly onStop: () => void
}

/** One button for both, so that the focus stays where it is. */
function RunButton({ isRunning, missing, models, onStop }: RunButtonProps) {
  if (isRunning) {
    return (
      <Button key="run" variant="secondary" icon={Square} unavailable={undefined} onClick={onStop}>
        {models > 1 ? 'Stop all' : 'Stop'}
      </Button>
    )
  }
  return (
    <Button key="run" type="submit" variant="primary" icon={Play} unavailable={missing}>
      {models > 1 ? `Run ${models} models` : 'Run'}
    </Button>
  )
}

function AttachButton({ onFiles }: { readonly onFiles: (files: readonly File[]) => void }) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <Button size="sm" variant="ghost" icon={ImagePlus} onClick={() => input.current?.click()}>
        Attach image
      </Button>
      <input
        ref={input}
        type="file"
        aria-label="Images"
        accept={IMAGE_TYPES.join(',')}
        multiple
        hidden
        onChange={({ target }) => {
          onFiles([...(target.files ?? [])])
          target.value = '' // the same file can be chosen again
        }}
      />
    </>
  )
}

function SettingsSummary({ settings }: { readonly settings: Settings }) {
  const summary = summaryOf(settings)
  return summary === '' ? null : <span className="min-w-0 text-sm break-words text-soft tabular-nums">{summary}</span>
}

function Problem({ text }: { readonly text: string | undefined }) {
  const id = useId()
  return (
    <p id={id} role="status" className="text-sm text-bad empty:hidden">
      {text}
    </p>
  )
}

function problemOfDraft({ settings, images }: Draft, chosen: readonly CallableModel[]): string | undefined {
  const problems = problemsOf(settings)
  for (const [name, problem] of Object.entries(problems)) return `Settings, ${name}. ${problemText(problem)}`
  const blind = images.length === 0 ? undefined : chosen.find(({ capabilities }) => !capabilities.vision)
  return blind && `${blind.id} cannot read images. Remove the images, or choose another model.`
}

interface ImagesInput {
  readonly setDraft: SetDraft
  readonly chosen: readonly CallableModel[]
}

function useImages({ images }: Draft, { setDraft, chosen }: ImagesInput) {
  const [imageError, setImageError] = useState<string>()
  const attach = async (files: readonly File[]): Promise<void> => {
    setImageError(undefined)
    let attached = images.length
    for (const file of files) {
      const problem = noReader(chosen) ?? imageProblem(file, attached)
      if (problem !== undefined) {
        setImageError(problem)
        continue
      }
      attached += 1
      try {
        const image = await readImage(file)
        setDraft((now) => ({ ...now, images: [...now.images, image] }))
      } catch (error) {
        setImageError(error instanceof Error ? error.message : String(error))
      }
    }
  }
  return { imageError, attach }
}

function noReader(chosen: readonly CallableModel[]): string | undefined {
  return chosen.some(({ capabilities }) => capabilities.vision)
    ? undefined
    : 'None of the selected models can read images.'
}

const ROLES: readonly { readonly value: Speaker; readonly label: string }[] = [
  { value: 'user', label: 'User' },
  { value: 'assistant', label: 'Assistant' },
]

interface DraftMessagesProps {
  readonly draft: Draft
  readonly setDraft: SetDraft
  readonly className?: string
}

/** The message, and those before it that are said with it: examples of how to answer, for one. */
function DraftMessages({ draft: { messages }, setDraft, className }: DraftMessagesProps) {
  const change = (id: number, part: Partial<DraftMessage>) =>
    setDraft((now) => ({
      ...now,
      messages: now.messages.map((message) => (message.id === id ? { ...message, ...part } : message)),
    }))
  const remove = (id: number) =>
    setDraft((now) => ({ ...now, messages: now.messages.filter((message) => message.id !== id) }))
  return (
    <div className={classNames('flex min-w-0 flex-col gap-3', className)}>
      {messages.map((message, index) => (
        <div key={message.id} className="flex min-w-0 items-start gap-2">
          <MessageText
            message={message}
            label={messages.length === 1 ? 'Message' : `Message ${index + 1}`}
            isLast={index === messages.length - 1}
            onText={(text) => change(message.id, { text })}
          />
          {messages.length > 1 && (
            <div className="flex w-32 shrink-0 flex-col gap-1.5">
              <div className="flex items-end gap-1">
                <SelectField
                  label={`Role of message ${index + 1}`}
                  hideLabel
                  value={message.role}
                  onChange={(role: Speaker) => change(message.id, { role })}
                  options={ROLES}
                  className="mt-6.5 flex-1"
                />
                <IconButton label={`Remove message ${index + 1}`} icon={X} onClick={() => remove(message.id)} />
              </div>
            </div>
          )}
        </div>
      ))}
    </div>
  )
}

interface MessageTextProps {
  readonly message: DraftMessage
  readonly label: string
  readonly isLast: boolean
  readonly onText: (text: string) => void
}

function MessageText({ message, label, isLast, onText }: MessageTextProps) {
  return (
    <div id={isLast ? MESSAGE_ID : undefined} className="min-w-0 flex-1">
      <TextArea
        label={label}
        value={message.text}
        onChange={onText}
        placeholder={isLast ? 'Write a message' : ''}
        rows={isLast ? 3 : 2}
      />
    </div>
  )
}

/** What is attached to the message. */
function ImageTray({ images, setDraft }: { readonly images: readonly Image[]; readonly setDraft: SetDraft }) {
  if (images.length === 0) return null
  const remove = (id: string) => setDraft((now) => ({ ...now, images: now.images.filter((image) => image.id !== id) }))
  return (
    <ul aria-label="Attached images" className="flex flex-wrap gap-2">
      {images.map(({ id, name, dataUrl, bytes }) => (
        <li key={id} className="flex max-w-full items-center gap-2 rounded-lg border border-line p-1.5">
          <img src={dataUrl} alt="" className="size-10 rounded-md object-cover" />
          <span className="flex min-w-0 flex-col">
            <span className="max-w-40 truncate text-sm text-ink">{name}</span>
            <span className="text-xs text-soft tabular-nums">{formatBytes(bytes)}</span>
          </span>
          <IconButton label={`Remove ${name}`} icon={X} size="sm" onClick={() => remove(id)} />
        </li>
      ))}
    </ul>
  )
}

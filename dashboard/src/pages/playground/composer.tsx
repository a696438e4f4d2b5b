import { ImagePlus, MessageSquarePlus, Play, SlidersHorizontal, Square } from 'lucide-react'
import { type ClipboardEvent, type FormEvent, type KeyboardEvent, useId, useRef, useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { TextArea } from '../../ui/field.tsx'
import type { CallableModel } from './callable.ts'
import { isSendKey } from './composer-keys.ts'
import { DraftMessages } from './draft-messages.tsx'
import { ImageTray } from './image-tray.tsx'
import { IMAGE_TYPES, imageProblem, readImage } from './images.ts'
import { problemText } from './json-text.ts'
import { problemsOf, type Settings } from './settings.ts'
import { summaryOf } from './settings-summary.ts'
import { type Draft, draftMessage, type SetDraft, saidBy } from './use-draft.ts'

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
  const canSend = !isRunning && problem === undefined && chosen.length > 0 && saidBy(draft).length > 0
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
          placeholder="How the models should behave"
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
          <RunButton isRunning={isRunning} canSend={canSend} models={chosen.length} onStop={onStop} />
        </div>
      </div>
    </form>
  )
}

interface RunButtonProps {
  readonly isRunning: boolean
  readonly canSend: boolean
  readonly models: number
  readonly onStop: () => void
}

/** One button for both, so that the focus stays where it is. */
function RunButton({ isRunning, canSend, models, onStop }: RunButtonProps) {
  if (isRunning) {
    return (
      <Button key="run" variant="secondary" icon={Square} onClick={onStop}>
        {models > 1 ? 'Stop all' : 'Stop'}
      </Button>
    )
  }
  return (
    <Button
      key="run"
      type="submit"
      variant="primary"
      icon={Play}
      aria-disabled={!canSend}
      className={canSend ? undefined : 'opacity-50'}
    >
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
    : 'None of the chosen models can read images.'
}

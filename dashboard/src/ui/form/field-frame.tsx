/** What stands around every field: its label, what it is for, and what is wrong with it. */
import { CircleAlert } from 'lucide-react'
import { type ReactNode, useId } from 'react'
import { classNames } from '../class-names.ts'
import { useFieldError } from './form.tsx'

export interface FieldProps {
  readonly label: string
  readonly description?: ReactNode
  readonly error?: string | undefined
  /** As the API calls it: what the form is answered about this parameter is shown here, unless there is an `error`. */
  readonly name?: string | undefined
  readonly required?: boolean | undefined
  readonly disabled?: boolean | undefined
  /** The label is for screen readers alone: what is seen around the field says it. */
  readonly hideLabel?: boolean | undefined
  readonly className?: string | undefined
}

export interface FieldIds {
  readonly id: string
  readonly labelId: string
  readonly error: string | undefined
  /** The attributes that tie the control to its texts. */
  readonly control: {
    readonly id: string
    readonly 'aria-describedby': string | undefined
    readonly 'aria-invalid': true | undefined
  }
}

export const CONTROL =
  'w-full min-w-0 rounded-lg border border-strong bg-surface text-base text-ink focus-visible:outline-offset-0 aria-invalid:border-bad disabled:bg-sunken disabled:text-soft'

export function useField({ description, error, name }: FieldProps): FieldIds {
  const id = useId()
  const answered = useFieldError(name)
  const shown = error ?? answered
  const described = [description !== undefined && `${id}-description`, shown !== undefined && `${id}-error`]
  return {
    id,
    labelId: `${id}-label`,
    error: shown,
    control: {
      id,
      'aria-describedby': classNames(...described) || undefined,
      'aria-invalid': shown === undefined ? undefined : true,
    },
  }
}

interface FieldFrameProps {
  readonly field: FieldProps
  readonly ids: FieldIds
  readonly children: ReactNode
}

export function FieldFrame({ field, ids, children }: FieldFrameProps) {
  const { label, description, required = false, hideLabel = false, className } = field
  return (
    <div className={classNames('flex min-w-0 flex-col gap-1.5', className)}>
      <label
        id={ids.labelId}
        htmlFor={ids.id}
        className={hideLabel ? 'sr-only' : 'flex flex-wrap gap-x-1.5 font-medium text-ink'}
      >
        {label}
        {required && <RequiredMark />}
      </label>
      {description !== undefined && (
        <div id={`${ids.id}-description`} className="-mt-1 text-sm text-soft">
          {description}
        </div>
      )}
      {children}
      <FieldError ids={ids} />
    </div>
  )
}

/** Around several controls that are one field. */
export function GroupFrame({ field, ids, children }: FieldFrameProps) {
  const { label, description, required = false, disabled = false, hideLabel = false, className } = field
  return (
    <fieldset
      disabled={disabled}
      aria-describedby={ids.control['aria-describedby']}
      className={classNames('flex min-w-0 flex-col', className)}
    >
      <legend className={hideLabel ? 'sr-only' : 'mb-1 font-medium text-ink'}>
        {label} {required && <RequiredMark />}
      </legend>
      {description !== undefined && (
        <div id={`${ids.id}-description`} className="mb-1 text-sm text-soft">
          {description}
        </div>
      )}
      {children}
      <FieldError ids={ids} />
    </fieldset>
  )
}

function FieldError({ ids }: { readonly ids: FieldIds }) {
  if (ids.error === undefined) return null
  return (
    <p id={`${ids.id}-error`} className="flex items-start gap-1.5 text-sm text-bad">
      <CircleAlert aria-hidden className="mt-0.5 size-4 shrink-0" />
      <span className="min-w-0 break-words">{ids.error}</span>
    </p>
  )
}

function RequiredMark() {
  return (
    <span aria-hidden className="font-normal text-soft">
      (required)
    </span>
  )
}

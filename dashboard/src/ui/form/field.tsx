/** Fields for text and numbers; the others are beside it, and reached from here. */
import { Search, X } from 'lucide-react'
import { type ComponentPropsWithRef, type HTMLInputAutoCompleteAttribute, type ReactNode, useId, useState } from 'react'
import { classNames } from '../class-names.ts'
import { CONTROL, FieldFrame, type FieldProps, useField } from './field-frame.tsx'
import { readNumber, textOfNumber } from './number-text.ts'

interface TextProps extends FieldProps {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly placeholder?: string | undefined
  readonly autoFocus?: boolean | undefined
  readonly autoComplete?: HTMLInputAutoCompleteAttribute | undefined
  readonly maxLength?: number | undefined
  readonly spellCheck?: boolean | undefined
  readonly readOnly?: boolean | undefined
}

type InputProps = ComponentPropsWithRef<'input'>

export interface TextFieldProps extends TextProps {
  readonly type?: 'text' | 'email' | 'url' | 'password' | 'tel' | 'date' | 'datetime-local' | undefined
  readonly inputMode?: InputProps['inputMode']
  /** Within the field, before and after what is typed: `$`, `USD`. */
  readonly prefix?: ReactNode
  readonly suffix?: ReactNode
  /** For ids, keys and code. */
  readonly mono?: boolean | undefined
  readonly min?: string | undefined
  readonly max?: string | undefined
}

export function TextField(props: TextFieldProps) {
  const { value, onChange, type = 'text', inputMode, prefix, suffix, mono = false, min, max } = props
  const ids = useField(props)
  return (
    <FieldFrame field={props} ids={ids}>
      <div className="relative flex items-center">
        <Affix side="left">{prefix}</Affix>
        <input
          {...ids.control}
          {...textAttributes(props)}
          type={type}
          inputMode={inputMode}
          min={min}
          max={max}
          value={value}
          onChange={(event) => onChange(event.target.value)}
          className={classNames(
            CONTROL,
            'h-9',
            prefix === undefined ? 'pl-3' : 'pl-8',
            suffix === undefined ? 'pr-3' : 'pr-16',
            mono && 'font-mono text-sm',
          )}
        />
        <Affix side="right">{suffix}</Affix>
      </div>
    </FieldFrame>
  )
}

export interface TextAreaProps extends TextProps {
  readonly rows?: number | undefined
  readonly mono?: boolean | undefined
}

export function TextArea(props: TextAreaProps) {
  const { value, onChange, rows = 4, mono = false } = props
  const ids = useField(props)
  return (
    <FieldFrame field={props} ids={ids}>
      <textarea
        {...ids.control}
        {...textAttributes(props)}
        rows={rows}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        className={classNames(CONTROL, 'resize-y px-3 py-2', mono && 'font-mono text-sm')}
      />
    </FieldFrame>
  )
}

export interface NumberFieldProps extends Omit<TextProps, 'value' | 'onChange' | 'maxLength' | 'spellCheck'> {
  readonly value: number | undefined
  /** Undefined: nothing is typed, or nothing that is a number within the bounds. */
  readonly onChange: (value: number | undefined) => void
  readonly min?: number | undefined
  readonly max?: number | undefined
  /** Whole numbers alone. */
  readonly whole?: boolean | undefined
  readonly prefix?: ReactNode
  readonly suffix?: ReactNode
}

/** Text that is a number: what is typed stays as it is typed, and the wheel changes nothing. */
export function NumberField({ value, onChange, min, max, whole = false, error, ...rest }: NumberFieldProps) {
  const [draft, setDraft] = useState({ text: textOfNumber(value), value })
  const text = draft.value === value ? draft.text : textOfNumber(value)
  const read = readNumber(text, { min, max, whole })
  const type = (typed: string) => {
    const next = readNumber(typed, { min, max, whole }).value
    setDraft({ text: typed, value: next })
    onChange(next)
  }
  return (
    <TextField
      {...rest}
      value={text}
      onChange={type}
      inputMode={whole ? 'numeric' : 'decimal'}
      autoComplete={rest.autoComplete ?? 'off'}
      error={read.problem ?? error}
    />
  )
}

export interface SearchFieldProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly placeholder?: string | undefined
  readonly autoFocus?: boolean | undefined
  readonly className?: string | undefined
}

export function SearchField({ label, value, onChange, placeholder, autoFocus, className }: SearchFieldProps) {
  const id = useId()
  return (
    <div className={classNames('relative flex items-center', className)}>
      <label htmlFor={id} className="sr-only">
        {label}
      </label>
      <Search aria-hidden className="pointer-events-none absolute left-3 size-4 text-faint" />
      <input
        id={id}
        type="search"
        value={value}
        placeholder={placeholder ?? label}
        // biome-ignore lint/a11y/noAutofocus: only where a page says that searching is what it was opened for
        autoFocus={autoFocus}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => onChange(event.target.value)}
        className={classNames(CONTROL, 'h-9 px-9 [&::-webkit-search-cancel-button]:hidden')}
      />
      {value !== '' && (
        <button
          type="button"
          aria-label="Clear search"
          onClick={() => {
            onChange('')
            document.getElementById(id)?.focus()
          }}
          className="absolute right-1.5 flex size-6 items-center justify-center rounded-md text-soft hover:bg-hover"
        >
          <X aria-hidden className="size-4" />
        </button>
      )}
    </div>
  )
}

function textAttributes({ name, ...props }: Omit<TextProps, 'value' | 'onChange'>) {
  return {
    name,
    placeholder: props.placeholder,
    required: props.required,
    disabled: props.disabled,
    readOnly: props.readOnly,
    autoFocus: props.autoFocus,
    autoComplete: props.autoComplete,
    maxLength: props.maxLength,
    spellCheck: props.spellCheck,
  }
}

function Affix({ side, children }: { readonly side: 'left' | 'right'; readonly children: ReactNode }) {
  if (children === undefined) return null
  return (
    <span
      className={classNames(
        'pointer-events-none absolute max-w-14 truncate text-sm text-soft',
        side === 'left' ? 'left-3' : 'right-3',
      )}
    >
      {children}
    </span>
  )
}

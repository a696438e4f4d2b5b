/** Forms: under way, refused, and what was typed kept. */
import { createContext, type FormEvent, type ReactNode, useContext, useId, useState } from 'react'
import { type ApiProblem, problemOf } from '../../api/problem.ts'
import { Button } from '../button.tsx'
import { classNames } from '../class-names.ts'
import { ProblemSummary } from '../notice.tsx'

export interface FormProps {
  /** When it rejects, the form says why and keeps its input. */
  readonly onSubmit: () => Promise<void>
  readonly children: ReactNode
  readonly submitLabel: string
  readonly onCancel?: (() => void) | undefined
  /** What is still needed, beside the button: "Enter a name." It cannot be pressed until then. */
  readonly missing?: string | undefined
  readonly danger?: boolean | undefined
  readonly className?: string
}

const FormProblem = createContext<ApiProblem | undefined>(undefined)

export function Form(props: FormProps) {
  const { onSubmit, children, submitLabel, onCancel, missing, danger = false, className } = props
  const missingId = useId()
  const { pending, problem, submit } = useSubmit(onSubmit)
  const send = (event: FormEvent) => {
    event.preventDefault()
    event.stopPropagation() // a form in a dialog is, for React, within the form that opened it
    if (missing === undefined) submit()
  }
  return (
    <FormProblem value={problem}>
      <form onSubmit={send} aria-busy={pending || undefined} className={classNames('flex flex-col gap-5', className)}>
        {problem !== undefined && <ProblemSummary problem={problem} />}
        {children}
        <div className="flex flex-wrap items-center justify-end gap-2">
          {missing !== undefined && (
            <p id={missingId} className="mr-auto text-sm text-soft">
              {missing}
            </p>
          )}
          {onCancel !== undefined && <Button onClick={onCancel}>Cancel</Button>}
          <Button
            type="submit"
            variant={danger ? 'danger' : 'primary'}
            pending={pending}
            unavailable={missing}
            aria-describedby={missing === undefined ? undefined : missingId}
          >
            {submitLabel}
          </Button>
        </div>
      </form>
    </FormProblem>
  )
}

/**
 * What the form's last answer said about a parameter, or about a part of it such as `tags.env` or `models[2]`.
 * @param param As the API calls it; undefined: the field is no parameter.
 */
export function useFieldError(param: string | undefined): string | undefined {
  const problem = useContext(FormProblem)
  if (param === undefined || problem?.param === undefined) return undefined
  const isPart = [`${param}.`, `${param}[`].some((start) => problem.param?.startsWith(start))
  return problem.param === param || isPart ? problem.message : undefined
}

function useSubmit(onSubmit: () => Promise<void>) {
  const [pending, setPending] = useState(false)
  const [problem, setProblem] = useState<ApiProblem>()
  const submit = () => {
    if (pending) return
    setPending(true)
    setProblem(undefined)
    onSubmit()
      .catch((error: unknown) => setProblem(problemOf(error)))
      .finally(() => setPending(false))
  }
  return { pending, problem, submit }
}

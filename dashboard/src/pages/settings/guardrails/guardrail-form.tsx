/** Dialogs that create and change a guardrail. */
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { toast } from '../../../ui/announcer.tsx'
import { Button } from '../../../ui/button.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { TextField } from '../../../ui/form/field.tsx'
import { Form } from '../../../ui/form/form.tsx'
import { ScopeFields, type ScopeIds } from '../scope-fields.tsx'
import { type Guardrail, type GuardrailBody, type Rule, useGuardrailActions } from './queries.ts'
import { NEW_RULE, RuleFields } from './rule-fields.tsx'

interface CreateDialogProps {
  readonly open: boolean
  readonly onClose: () => void
}

export function CreateDialog({ open, onClose }: CreateDialogProps) {
  const { add } = useGuardrailActions()
  const create = async (body: GuardrailBody) => {
    await add(body)
    toast('Guardrail created')
    onClose()
  }
  return (
    <Dialog
      open={open}
      onOpenChange={(next) => {
        if (!next) onClose()
      }}
      title="Create guardrail"
      description="It takes effect in every process within a second."
      size="lg"
    >
      <GuardrailForm submitLabel="Create guardrail" onSubmit={create} onCancel={onClose} />
    </Dialog>
  )
}

interface EditDialogProps {
  /** Undefined: closed. */
  readonly target: Guardrail | undefined
  readonly onClose: () => void
}

export function EditDialog({ target, onClose }: EditDialogProps) {
  const { change } = useGuardrailActions()
  const save = async (body: GuardrailBody) => {
    if (target === undefined) return
    await change(target.id, body)
    toast('Saved')
    onClose()
  }
  return (
    <Dialog
      open={target !== undefined}
      onOpenChange={(next) => {
        if (!next) onClose()
      }}
      title="Edit guardrail"
      description={target?.name}
      size="lg"
    >
      {target !== undefined && <GuardrailForm initial={target} submitLabel="Save" onSubmit={save} onCancel={onClose} />}
    </Dialog>
  )
}

interface GuardrailFormProps {
  readonly initial?: Guardrail
  readonly submitLabel: string
  readonly onSubmit: (body: GuardrailBody) => Promise<void>
  readonly onCancel: () => void
}

interface NumberedRule {
  readonly number: number
  readonly rule: Rule
}

function GuardrailForm({ initial, submitLabel, onSubmit, onCancel }: GuardrailFormProps) {
  const [name, setName] = useState(initial?.name ?? '')
  const [rules, setRules] = useState<readonly NumberedRule[]>(() =>
    (initial?.rules ?? [NEW_RULE]).map((rule, number) => ({ number, rule })),
  )
  const [scope, setScope] = useState<ScopeIds>({ keys: initial?.keys ?? [], teams: initial?.teams ?? [] })
  const submit = () => {
    const [keys, teams] = [scope.keys, scope.teams].map((ids) => (ids.length === 0 ? null : [...ids]))
    return onSubmit({ name, rules: rules.map(({ rule }) => rule), keys: keys ?? null, teams: teams ?? null })
  }
  const add = () => setRules([...rules, { number: (rules.at(-1)?.number ?? 0) + 1, rule: NEW_RULE }])
  return (
    <Form
      onSubmit={submit}
      submitLabel={submitLabel}
      onCancel={onCancel}
      missing={name.trim() === '' ? 'Enter a name.' : rules.length === 0 ? 'Add a rule.' : undefined}
    >
      <TextField
        label="Name"
        name="name"
        value={name}
        onChange={setName}
        maxLength={100}
        description="Errors that clients get name it."
        required
      />
      {rules.map(({ number, rule }, at) => (
        <RuleFields
          key={number}
          position={at}
          rule={rule}
          onChange={(next) => setRules(rules.map((each) => (each.number === number ? { number, rule: next } : each)))}
          onRemove={rules.length === 1 ? undefined : () => setRules(rules.filter((each) => each.number !== number))}
        />
      ))}
      <div>
        <Button icon={Plus} size="sm" onClick={add}>
          Add rule
        </Button>
      </div>
      <ScopeFields value={scope} onChange={setScope} />
    </Form>
  )
}

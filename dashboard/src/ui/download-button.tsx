import { Download } from 'lucide-react'
import { useState } from 'react'
import { problemOf } from '../api/problem.ts'
import { toast } from './announcer.tsx'
import { Button, type ButtonProps } from './button.tsx'

interface DownloadButtonProps extends Omit<ButtonProps, 'icon' | 'pending' | 'onClick'> {
  /** Hands the file over, and resolves to its name. */
  readonly download: () => Promise<string>
}

/** Says what it is doing, and whether it could. */
export function DownloadButton({ download, ...button }: DownloadButtonProps) {
  const [pending, setPending] = useState(false)
  const start = () => {
    setPending(true)
    download()
      .then(
        (name) => toast(`Downloaded ${name}`),
        (error) => toast(`Could not download the file: ${problemOf(error).message}`, { tone: 'bad' }),
      )
      .finally(() => setPending(false))
  }
  return <Button {...button} icon={Download} pending={pending} onClick={start} />
}

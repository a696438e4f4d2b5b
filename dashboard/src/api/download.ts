/** Files that the gateway makes, as it makes them. */
import { downloadText } from '../lib/download.ts'
import { fetchRaw } from './client.ts'

export interface DownloadedFile {
  readonly name: string
  readonly headers: Headers
}

/**
 * Asks for a file and hands it to the person. Rejects as `fetchRaw` does.
 * @param fallback What it is called where the gateway does not say.
 */
export async function downloadFile(path: string, fallback: string): Promise<DownloadedFile> {
  const response = await fetchRaw(path)
  const { headers } = response
  const name = /filename="([\w.-]+)"/.exec(headers.get('content-disposition') ?? '')?.[1] ?? fallback
  downloadText(name, headers.get('content-type') ?? 'application/octet-stream', await response.text())
  return { name, headers }
}

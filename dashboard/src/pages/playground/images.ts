/** Pictures that are attached: read here, sent as data addresses, kept nowhere. */
import { formatBytes } from '../../lib/format.ts'
import type { Image } from './conversation.ts'

export const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const
export const MAX_IMAGE_BYTES = 5 * 1024 * 1024
export const MAX_IMAGES = 4

type FileFacts = Pick<File, 'name' | 'type' | 'size'>

/** Why it cannot be attached; undefined when it can. @param attached How many there are already. */
export function imageProblem({ name, type, size }: FileFacts, attached: number): string | undefined {
  if (attached >= MAX_IMAGES) return `${MAX_IMAGES} images at most.`
  if (!IMAGE_TYPES.some((known) => known === type)) return `${name} is not a PNG, JPEG, GIF or WebP image.`
  if (size > MAX_IMAGE_BYTES) return `${name} has ${formatBytes(size)}; the limit is ${formatBytes(MAX_IMAGE_BYTES)}.`
  return undefined
}

/** Rejects when the file cannot be read, as when it was moved after it was chosen. */
export function readImage(file: File): Promise<Image> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () =>
      resolve({ id: crypto.randomUUID(), name: file.name, dataUrl: String(reader.result), bytes: file.size })
    reader.onerror = () => reject(new Error(`${file.name} cannot be read.`))
    reader.readAsDataURL(file)
  })
}

/** What differs between the hosts that speak this format. */
export interface GeminiOptions {
  /**
   * What comes between the base URL and `/models/…`; `/v1beta` unless said. '' where the base URL has it all, as on
   * Vertex AI: `https://{location}-aiplatform.googleapis.com/v1/projects/{project}/locations/{location}/publishers/google`.
   */
  readonly pathPrefix?: string
  /** Whether the body may have `serviceTier`; true unless said. Elsewhere a tier is refused. */
  readonly serviceTier?: boolean
}

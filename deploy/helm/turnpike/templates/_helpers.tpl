{{- define "turnpike.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "turnpike.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "turnpike.labels" -}}
{{ include "turnpike.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "turnpike.image" -}}
{{ printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) | quote }}
{{- end -}}

{{- define "turnpike.serviceAccount" -}}
{{ if .Values.serviceAccount.create }}{{ default (include "turnpike.fullname" .) .Values.serviceAccount.name }}{{ else }}{{ default "default" .Values.serviceAccount.name }}{{ end }}
{{- end -}}

{{- define "turnpike.secret" -}}
{{- if .Values.secret.create -}}
{{ default (include "turnpike.fullname" .) .Values.secret.name }}
{{- else -}}
{{ required "secret.name is required: the secret with DATABASE_URL and TURNPIKE_SECRET" .Values.secret.name }}
{{- end -}}
{{- end -}}

{{- define "turnpike.metricsPort" -}}
{{ required "config.server.metrics_port is required: probes of the pods' metrics use it" .Values.config.server.metrics_port | int }}
{{- end -}}

{{- /* What a process needs to drain: the delay, the drain itself, and half a minute to commit and exit. */ -}}
{{- define "turnpike.gracePeriod" -}}
{{- $server := .Values.config.server -}}
{{- $drain := 600000 -}}
{{- if hasKey $server "drain_ms" -}}{{- $drain = int $server.drain_ms -}}{{- end -}}
{{- div (add $drain (int (default 0 $server.drain_delay_ms)) 30999) 1000 -}}
{{- end -}}

{{- define "turnpike.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
seccompProfile:
  type: {{ .seccomp }}
{{- end -}}

{{- define "turnpike.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "turnpike.environment" -}}
env:
  - name: HOST
    value: "0.0.0.0"
  - name: PORT
    value: "7575"
  - name: TURNPIKE_DATA_DIR
    value: /data
  - name: TURNPIKE_CONFIG
    value: /etc/turnpike/turnpike.yaml
  {{- with .Values.env }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
envFrom:
  - secretRef:
      name: {{ include "turnpike.secret" . }}
{{- end -}}

{{- define "turnpike.probes" -}}
# The start waits for the database.
startupProbe:
  httpGet: { path: /healthz, port: http }
  periodSeconds: 2
  failureThreshold: 60
# 503 from SIGTERM on, and while the database is away.
readinessProbe:
  httpGet: { path: /readyz, port: http }
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 2
livenessProbe:
  httpGet: { path: /healthz, port: http }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
{{- end -}}

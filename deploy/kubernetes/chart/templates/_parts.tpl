{{- define "fairlock.name" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride }}
{{- else if contains "fairlock" .Release.Name -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-fairlock" (.Release.Name | trunc 31 | trimSuffix "-") }}
{{- end -}}
{{- end -}}

{{/* Names the pods of one part of the release: server, create-fleet or backup. */}}
{{- define "fairlock.selector" -}}
app.kubernetes.io/name: fairlock
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "fairlock.labels" -}}
app.kubernetes.io/name: fairlock
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end -}}

{{- define "fairlock.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end -}}

{{- define "fairlock.account" -}}
{{- $own := ternary (include "fairlock.name" .) "default" .Values.serviceAccount.create -}}
{{ .Values.serviceAccount.name | default $own }}
{{- end -}}

{{- define "fairlock.podSecurity" -}}
runAsNonRoot: true
runAsUser: 3247
runAsGroup: 3247
fsGroup: 3247
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "fairlock.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{- define "fairlock.etcdArgs" -}}
{{- with .Values.fleet -}}
- --cluster-etcd
- {{ join "," .etcd.endpoints }}
{{- if .etcd.existingSecret }}
- --cluster-etcd-ca
- /etc/fairlock/etcd/ca.pem
- --cluster-etcd-cert
- /etc/fairlock/etcd/client.pem
- --cluster-etcd-key
- /etc/fairlock/etcd/client.key
{{- end }}
{{- if .etcd.user }}
- --cluster-etcd-user
- {{ .etcd.user | quote }}
- --cluster-etcd-password-file
- /etc/fairlock/etcd/password
{{- end }}
- --cluster-name
- {{ .name | quote }}
{{- end -}}
{{- end -}}

{{- define "fairlock.nodeArgs" -}}
{{ include "fairlock.etcdArgs" . }}
- --cluster-etcd-quota
- {{ .Values.fleet.etcd.quota }}
- --cluster-node
- $(POD_NAME)
- --cluster-announce
- $(POD_NAME).{{ include "fairlock.name" . }}-nodes.$(NAMESPACE).svc:3247
{{- if gt (int .Values.fleet.partitions) 1 }}
- --cluster-machine
- $(MACHINE)
- --cluster-dialect
- cluster
- --sentinel-port
- "0"
{{- end }}
{{- end -}}

{{- define "fairlock.args" -}}
{{- if eq .Values.mode "fleet" -}}
{{ include "fairlock.nodeArgs" . }}
{{- else -}}
- --durability
- {{ .Values.server.durability }}
{{- if and .Values.backup.enabled .Values.backup.existingClaim }}
- --backup-dir
- /var/lib/fairlock-backups
{{- end }}
{{- end }}
- --acl-file
- /etc/fairlock/secret/users.acl
- --http-bind
- "*"
- --http-token-file
- /etc/fairlock/secret/http-token
{{- with .Values.http.hosts }}
- --http-hosts
- {{ join "," (prepend . "localhost") }}
{{- end }}
{{- if .Values.tls.existingSecret }}
- --tls-port
- "3250"
- --tls-cert-file
- /etc/fairlock/tls/tls.crt
- --tls-key-file
- /etc/fairlock/tls/tls.key
{{- if ne .Values.tls.authClients "no" }}
- --tls-ca-file
- /etc/fairlock/tls/ca.crt
{{- end }}
- --tls-auth-clients
- {{ .Values.tls.authClients | quote }}
{{- end }}
{{- range $name, $value := .Values.options }}
- --{{ $name | replace "_" "-" }}
- {{ $value | toString | quote }}
{{- end }}
{{- end -}}

{{- define "fairlock.hasSentinel" -}}
{{- if and (eq .Values.mode "fleet") (eq (int .Values.fleet.partitions) 1) }}yes{{ end -}}
{{- end -}}

{{/* The ports of the pods, named as those of the services. */}}
{{- define "fairlock.containerPorts" -}}
- {name: resp, containerPort: 3247}
{{- if .Values.tls.existingSecret }}
- {name: resp-tls, containerPort: 3250}
{{- end }}
# Metrics, probes and the dashboard.
- {name: http, containerPort: 3248}
{{- if include "fairlock.hasSentinel" . }}
- {name: sentinel, containerPort: 3249}
{{- end }}
{{- end -}}

{{/* The ports that clients use, and not the HTTP port. */}}
{{- define "fairlock.clientPorts" -}}
- {name: resp, port: 3247, targetPort: resp}
{{- if .Values.tls.existingSecret }}
- {name: resp-tls, port: 3250, targetPort: resp-tls}
{{- end }}
{{- end -}}

{{- define "fairlock.placement" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{ toJson . }}
{{- end }}
{{- end -}}

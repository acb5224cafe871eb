{{- define "outrigger.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 47 | trimSuffix "-" -}}
{{- end -}}

{{/* At most 47 characters: a StatefulSet's name ends up, with a hash, in a label of 63. */}}
{{- define "outrigger.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 47 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 47 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 47 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* A selector can never change: no version, no chart, nothing that a user sets. */}}
{{- define "outrigger.selectorLabels" -}}
app.kubernetes.io/name: {{ include "outrigger.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: service
{{- end -}}

{{- define "outrigger.labels" -}}
{{- $own := fromYaml (include "outrigger.selectorLabels" .) -}}
{{- $_ := set $own "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-") -}}
{{- $_ := set $own "app.kubernetes.io/version" .Chart.AppVersion -}}
{{- $_ := set $own "app.kubernetes.io/managed-by" .Release.Service -}}
{{- merge $own .Values.commonLabels | toYaml -}}
{{- end -}}

{{- define "outrigger.image" -}}
{{- $repository := .Values.image.repository -}}
{{- if .Values.image.registry -}}{{- $repository = printf "%s/%s" .Values.image.registry .Values.image.repository -}}{{- end -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{- define "outrigger.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "outrigger.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* OpenShift assigns the group itself and refuses a fixed one. */}}
{{- define "outrigger.podSecurityContext" -}}
{{- $context := deepCopy .Values.podSecurityContext -}}
{{- if .Capabilities.APIVersions.Has "security.openshift.io/v1" -}}{{- $context = omit $context "fsGroup" "fsGroupChangePolicy" -}}{{- end -}}
{{- range $key, $value := $context -}}{{- if kindIs "invalid" $value -}}{{- $context = omit $context $key -}}{{- end -}}{{- end -}}
{{- toYaml $context -}}
{{- end -}}

{{/* The programs' configuration files; a user's settings win over the chart's. */}}
{{- define "outrigger.serviceConfig" -}}
{{- $v := .Values.service -}}
{{- $own := dict
  "http-address" "0.0.0.0" "http-port" (int $v.ports.http)
  "operations-address" "0.0.0.0" "operations-port" (int $v.ports.operations)
  "data-dir" "/var/lib/outrigger/data" "journal" $v.journal "log-level" $v.logLevel
  "drain-delay" "0s" "drain-timeout" (printf "%ds" (int $v.drainSeconds))
  "definitions" (ternary "/etc/outrigger-definitions" "/usr/local/share/outrigger/definitions" (not (empty $v.definitions))) -}}
{{- if .Values.sidecar.enabled -}}{{- $_ := set $own "http-address" "127.0.0.1" -}}{{- end -}}
{{- if eq $v.journal "kafka" -}}
{{- $_ := set $own "kafka-bootstrap" $v.kafka.bootstrap -}}
{{- $_ := set $own "kafka-topic-generation" $v.kafka.topicGeneration -}}
{{- end -}}
{{- mergeOverwrite $own (deepCopy $v.settings) | toYaml -}}
{{- end -}}

{{- define "outrigger.sidecarConfig" -}}
{{- $v := .Values.sidecar -}}
{{- $own := dict
  "http-address" "0.0.0.0" "http-port" (int $v.ports.http)
  "health-address" "0.0.0.0" "health-port" (int $v.ports.health)
  "upstream" (printf "127.0.0.1:%d" (int .Values.service.ports.http))
  "admin-socket" "/run/outrigger/admin.sock" "faults-enabled" $v.faults.enabled
  "log-level" $v.logLevel "drain-delay" "0s" "drain-timeout" (printf "%ds" (int $v.drainSeconds)) -}}
{{- mergeOverwrite $own (deepCopy $v.settings) | toYaml -}}
{{- end -}}

{{/* What a schema cannot say: relations between values. */}}
{{- define "outrigger.validate" -}}
{{- $v := .Values -}}
{{- $sidecar := ternary (int $v.sidecar.drainSeconds) 0 $v.sidecar.enabled -}}
{{- $needed := add $v.service.preStopSeconds $v.service.drainSeconds $sidecar 5 -}}
{{- if gt (int $needed) (int $v.terminationGracePeriodSeconds) -}}
{{- fail (printf "helm values: service.preStopSeconds (%d) + service.drainSeconds (%d) + sidecar.drainSeconds (%d) + 5 s to spare exceed terminationGracePeriodSeconds (%d): raise the last to %d or lower the others" (int $v.service.preStopSeconds) (int $v.service.drainSeconds) $sidecar (int $v.terminationGracePeriodSeconds) (int $needed)) -}}
{{- end -}}
{{- if and (eq $v.service.journal "embedded") (gt (int $v.replicas) 1) -}}
{{- fail (printf "helm values: replicas (%d) with service.journal embedded: each Pod would have sagas that the others do not know. Use one replica, or service.journal kafka" (int $v.replicas)) -}}
{{- end -}}
{{- if and (eq $v.service.journal "kafka") (empty $v.service.kafka.bootstrap) -}}
{{- fail "helm values: service.journal kafka needs service.kafka.bootstrap, a list of host:port" -}}
{{- end -}}
{{- $ports := list (int $v.service.ports.http) (int $v.service.ports.operations) -}}
{{- if $v.sidecar.enabled -}}{{- $ports = concat $ports (list (int $v.sidecar.ports.http) (int $v.sidecar.ports.health)) -}}{{- end -}}
{{- if ne (len $ports) (len (uniq $ports)) -}}
{{- fail (printf "helm values: service.ports and sidecar.ports must differ, since the containers of a Pod share them: %s" ($ports | join ", ")) -}}
{{- end -}}
{{- end -}}

{{- define "outrigger.monitoringApi" -}}
{{- if not (.root.Capabilities.APIVersions.Has (printf "monitoring.coreos.com/v1/%s" .kind)) -}}
{{- fail (printf "helm values: %s is true, but this cluster has no %s (monitoring.coreos.com/v1): install the Prometheus operator first, or set it to false" .value .kind) -}}
{{- end -}}
{{- end -}}

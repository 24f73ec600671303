package stowagev1

// ErrorDomain is the domain of every google.rpc.ErrorInfo.
const ErrorDomain = "stowage-scheduler.github.io"

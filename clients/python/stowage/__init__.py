"""A client of Stowage. The messages and stubs of the contract are in stowage.v1; stowage.objects needs no gRPC."""

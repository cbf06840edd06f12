"""Resources that processes share: `resource` has slots, `container` an amount, `store` items."""

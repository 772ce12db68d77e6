"""Commands about files: of a model, a certificate, a statement or a schema."""

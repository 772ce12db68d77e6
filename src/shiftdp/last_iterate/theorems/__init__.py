"""Every theorem that a certificate may rest on."""

"""Run the diagnosis: once a second every detector, then advice and the accounts, over a live fleet or a recording."""

"""What models were used for: `GET /v1/usage` over the sums that a store keeps, and budgets of users and tenants."""

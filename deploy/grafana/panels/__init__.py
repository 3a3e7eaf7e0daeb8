"""What is on the dashboards."""

module github.com/strata-run/strata

go 1.26.0

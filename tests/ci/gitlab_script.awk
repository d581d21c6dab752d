# The shell of a job of GitLab, as its runner puts it together: awk -v job=NAME -f gitlab_script.awk FILE. Ends with 1
# if there is no such job with a script.
/^[^ #]/ {
    in_job = $0 == job ":"
    in_script = 0
}
in_job && /^  [a-z]/ { in_script = $0 == "  script:" }
!in_script || /^  script:$/ || /^    #/ { next }
/^    - \|$/ { next }
/^    - / || /^      / || /^$/ {
    print substr($0, 7)
    found = 1
}
END { exit !found }

# The shell of one step of a workflow: awk -v step=NAME -f night_step.awk WORKFLOW. Ends with 1 if there is no such step
# that runs something.
/^ *- name: / || /^ *- uses: / {
    in_step = $0 == "      - name: " step
    in_block = 0
}
in_block && (/^          / || /^$/) {
    print substr($0, 11)
    found = 1
    next
}
{ in_block = 0 }
in_step && /^        run: \|$/ { in_block = 1 }
in_step && /^        run: [^|]/ {
    print substr($0, 14)
    found = 1
}
END { exit !found }

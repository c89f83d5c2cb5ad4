#!/usr/bin/env bash
# The rooms of the course, from the ground up. A file includes headers of its own room and of rooms below it.
# Exercises and solutions stand on the ground floor alone; nothing includes the tests.
set -euo pipefail
cd "$(dirname "$0")/../.."
ground="runtime files net gpu nn data"
above="own_mpi elastic protocol trace diagrams plots pages process result manifest build vet judge launch report check grade
algorithms parallel simulate prove trainer lab cli"

git grep -oE '^#include "(course|tests)/[^"]+' -- 'course/*.[ch]*' 'exercises/*.[ch]*' 'solutions/*.[ch]*' |
    sed 's/:#include "/ /' | awk -v ground="$ground" -v above="$above" '
    BEGIN {
        ground_floor = split(ground, rooms)
        for (i in rooms) place[rooms[i]] = i + 0
        n = split(above, rooms)
        for (i in rooms) place[rooms[i]] = ground_floor + i
    }
    {
        split($1, file, "/")
        split($2, header, "/")
        at = file[1] == "course" ? place[file[2]] : ground_floor
        if (header[1] == "tests")
            wrong = $1 " includes " $2 ": tests stand above all"
        else if (!at)
            wrong = "tests/course/rooms_test.sh does not place course/" file[2]
        else if (!place[header[2]] || place[header[2]] > at)
            wrong = $1 " includes " $2 ", which stands above it"
        else
            next
        print wrong
        status = 1
    }
    END {
        if (NR < 500) { print "only " NR " includes were read"; status = 1 }
        exit status
    }'

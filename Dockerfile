# Debian 13 with all that the course needs. The course itself is the folder in which you are:
#
#     docker build -t shardlings .
#     docker run --rm -it --init --shm-size=1g -v "$PWD":/course shardlings
#
# Ranks pass their messages in /dev/shm, of which a container has 64 MB by itself.
FROM debian:trixie

RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates git sudo \
 && rm -rf /var/lib/apt/lists/*
COPY scripts/setup.sh /tmp/course/scripts/setup.sh
RUN /tmp/course/scripts/setup.sh base torch plot grade simulate \
 && rm -rf /tmp/course /var/lib/apt/lists/*
# the command may still ask for packages: setup.sh installs them by sudo
RUN useradd --create-home --shell /bin/bash student \
 && echo 'student ALL=(ALL) NOPASSWD:ALL' >/etc/sudoers.d/student
USER student
WORKDIR /course
CMD ["./shardlings"]

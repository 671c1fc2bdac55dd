/*
 * A program that its children run: fork MODEL.anec OUTPUTS INPUT... Each child writes its own outputs; the last is
 * alone when it does so.
 */
#include <sys/wait.h>

#include "client.h"

static struct program program;

static void run(const char *outputs, const char *who)
{
	char prefix[4096];
	struct drm_ane_submit submit = submission(&program);
	for (uint32_t output = 0; output < program.header.outputs; output++)
		memset(program.bars[4 + output].map, 0, program.bars[4 + output].size);
	CHECK(ioctl(program.fd, DRM_IOCTL_ANE_SUBMIT, &submit) == 0);
	snprintf(prefix, sizeof prefix, "%s.%s", outputs, who);
	for (uint32_t output = 0; output < program.header.outputs; output++) {
		size_t size;
		uint16_t *dense = get(&program, output, &size);
		save(prefix, output, dense, size);
		free(dense);
	}
}

int main(int argc, char **argv)
{
	CHECK(argc >= 3);
	int fd = open_device(), status;
	CHECK(fd >= 0);
	program = load_program(fd, argv[1]);
	for (int input = 0; input < argc - 3; input++) {
		size_t size;
		put(&program, (unsigned)input, load(argv[3 + input], &size));
	}
	run(argv[2], "parent");
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		run(argv[2], "child");
		/* A grandchild of a process that has lanes of its own. */
		pid_t grandchild = fork();
		CHECK(grandchild >= 0);
		if (grandchild == 0) {
			run(argv[2], "grandchild");
			_exit(0);
		}
		CHECK(waitpid(grandchild, &status, 0) == grandchild);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	/* The parent's file is as it was. */
	run(argv[2], "parent");

	int gone[2];
	CHECK(pipe(gone) == 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		char byte;
		CHECK(close(gone[1]) == 0 && read(gone[0], &byte, 1) == 0);
		/* Only now the first call of this process, which is the only one left with the file. */
		run(argv[2], "orphan");
		_exit(0);
	}
	/* The test waits for the orphan: it has this process' output open. */
	_exit(0);
}

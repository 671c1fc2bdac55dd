/*
 * A file that a child inherited stays open though its parent closes it before the child has called anything, and what the parent
 * has open besides stays open as well. A child that never calls keeps what it inherited, and no more.
 */
#include <sys/wait.h>

#include "client.h"

static int has_buffer(int fd, uint32_t handle)
{
	struct drm_ane_bo_info info = { .handle = handle };
	return ioctl(fd, DRM_IOCTL_ANE_BO_INFO, &info) == 0;
}

int main(void)
{
	int closed[2], status, opened = 0;
	int given = open_device(), kept = open_device(), mapped = open_device();
	CHECK(given >= 0 && kept >= 0 && mapped >= 0);
	struct buffer first = new_buffer(given, TILE), second = new_buffer(kept, TILE), third = new_buffer(mapped, TILE);
	CHECK(close(mapped) == 0);
	memset(first.map, 1, first.size);
	memset(third.map, 3, third.size);
	CHECK(pipe(closed) == 0);
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		char byte;
		CHECK(close(closed[1]) == 0 && read(closed[0], &byte, 1) == 0);
		CHECK(has_buffer(given, first.handle) && has_buffer(kept, second.handle));
		CHECK(first.map[5] == 1 && new_buffer(given, TILE).map[0] == 0);
		_exit(0);
	}
	/* Opening looks what was closed. */
	CHECK(munmap(first.map, first.size) == 0 && close(given) == 0);
	int other = open_device();
	CHECK(other >= 0 && has_buffer(kept, second.handle));
	CHECK(close(closed[1]) == 0);
	CHECK(waitpid(child, &status, 0) == child && status == 0);

	CHECK(has_buffer(kept, second.handle) && new_buffer(other, TILE).map[0] == 0);
	for (uint64_t at = 0; at < third.size; at++)
		CHECK(third.map[at] == 3);
	/* A child that never calls keeps what it inherited, and nothing that was opened later. */
	CHECK(pipe(closed) == 0);
	given = open_device();
	CHECK(given >= 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		char byte;
		CHECK(close(closed[1]) == 0 && read(closed[0], &byte, 1) == 0);
		_exit(0);
	}
	int later = open_device();
	CHECK(later >= 0 && close(given) == 0);
	int last = open_device();
	CHECK(last >= 0 && close(later) == 0 && close(last) == 0);
	/* That one, the one that was kept, the one that is mapped and the other are what is open. */
	while (open("/dev/accel/accel0", O_RDWR) >= 0)
		opened++;
	CHECK(errno == EBUSY && opened == 252);
	CHECK(close(closed[1]) == 0 && waitpid(child, &status, 0) == child && status == 0);
	return 0;
}

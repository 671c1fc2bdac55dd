/* Submits a program, and says what came of it and when: hang MODEL.anec */
#include <time.h>

#include "client.h"

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	int fd = open_device();
	CHECK(fd >= 0);
	struct program program = load_program(fd, argv[1]);
	for (int round = 0; round < 2; round++) {
		struct drm_ane_submit submit = submission(&program);
		double start = now();
		int result = ioctl(fd, DRM_IOCTL_ANE_SUBMIT, &submit);
		int error = result < 0 ? errno : 0;
		double took = now() - start;
		const char *when = took < 0.9 ? "at once" : took < 5.0 ? "after a second" : "late";
		printf("%s %s\n", error == ETIMEDOUT ? "ETIMEDOUT" : error ? strerror(error) : "done", when);
	}
	return 0;
}

/*
 * A fork while as many threads are in calls as a process may have: crowded MODEL.anec, on a device whose queue is stuck. None of
 * them is in the child, which calls as any other.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "client.h"

#define THREADS 64

static int fd;
static uint64_t fence;

static void *in_call(void *unused)
{
	(void)unused;
	struct drm_ane_fence of = { .fence = fence };
	struct drm_ane_wait wait = {
		.fences = (uintptr_t)&of, .count = 1, .fence_size = sizeof of, .timeout_ns = (int64_t)ANE_TIME_NEVER,
	};
	CHECK(ioctl(fd, DRM_IOCTL_ANE_WAIT, &wait) == 0);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int status;
	CHECK(argc == 2);
	fd = open_device();
	CHECK(fd >= 0);
	struct program program = load_program(fd, argv[1]);
	struct drm_ane_bar bars[32];
	struct drm_ane_request request = request_of(&program, bars);
	CHECK(ioctl(fd, DRM_IOCTL_ANE_SUBMIT_REQUEST, &request) == 0);
	fence = request.out_fence;
	for (int thread = 0; thread < THREADS; thread++)
		CHECK(pthread_create(&threads[thread], NULL, in_call, NULL) == 0);
	/* The device gives up later than they are all in their calls. */
	usleep(500000);
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		struct drm_ane_get_param param = { .param = ANE_PARAM_PAGE_SIZE };
		alarm(20);
		CHECK(ioctl(fd, DRM_IOCTL_ANE_GET_PARAM, &param) == 0 && param.value == 0x4000);
		_exit(0);
	}
	/* Signals that come while it waits end it, too. */
	for (int tenth = 0; waitpid(child, &status, WNOHANG) == 0; tenth++) {
		usleep(100000);
		if (tenth == 250)
			kill(child, SIGKILL);
	}
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	for (int thread = 0; thread < THREADS; thread++)
		CHECK(pthread_join(threads[thread], NULL) == 0);
	return 0;
}

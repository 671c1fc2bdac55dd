/* Signals while a call waits: signals MODEL.anec, on a device whose queue is stuck. */
#include <signal.h>
#include <sys/time.h>

#include "client.h"

static int fd;
static volatile sig_atomic_t answered;

/* Calls the device, in the middle of a call on the device. */
static void handler(int signal)
{
	(void)signal;
	int before = errno;
	struct drm_ane_get_param param = { .param = ANE_PARAM_PAGE_SIZE };
	if (ioctl(fd, DRM_IOCTL_ANE_GET_PARAM, &param) == 0 && param.value == 0x4000)
		answered++;
	errno = before;
}

/* Again and again: one may come before the call that it is to end. */
static void alarm_every(long microseconds)
{
	struct timeval period = { .tv_usec = microseconds };
	struct itimerval timer = { .it_interval = period, .it_value = period };
	CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	fd = open_device();
	CHECK(fd >= 0);
	struct program program = load_program(fd, argv[1]);
	struct drm_ane_bar bars[32];
	struct drm_ane_request request = request_of(&program, bars);
	CHECK(ioctl(fd, DRM_IOCTL_ANE_SUBMIT_REQUEST, &request) == 0);

	struct sigaction action = { .sa_handler = handler };
	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	struct drm_ane_fence fence = { .fence = request.out_fence };
	struct drm_ane_wait wait = {
		.fences = (uintptr_t)&fence, .count = 1, .fence_size = sizeof fence, .timeout_ns = (int64_t)ANE_TIME_NEVER,
	};
	alarm_every(50000);
	CHECK(ioctl(fd, DRM_IOCTL_ANE_WAIT, &wait) == -1 && errno == EINTR && answered >= 1);
	CHECK(fence.state != ANE_FENCE_STATE_COMPLETE);
	alarm_every(0);
	/* Again with the same time: until the device gives up. */
	CHECK(ioctl(fd, DRM_IOCTL_ANE_WAIT, &wait) == 0);
	CHECK(fence.state == ANE_FENCE_STATE_COMPLETE && fence.result < 0);
	/* The existing call does not listen to signals. */
	alarm_every(100);
	struct drm_ane_submit submit = submission(&program);
	CHECK(ioctl(fd, DRM_IOCTL_ANE_SUBMIT, &submit) == 0);
	return 0;
}
